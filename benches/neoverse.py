"""Reads a disassembly, and prints what llvm-mca makes of the inner loops of contains_batch; see neoverse.sh."""
import re
import subprocess
import sys

CLASSES = "fewer than 8 probes", "8 probes", "more than 8"


def functions(lines, name):
    """The instructions of every function of this name: (address, text)."""
    found, current = [], None
    for line in lines:
        if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            current = [] if head[1] == name else None
            if current is not None:
                found.append(current)
        elif current is not None and (op := re.match(r"\s*([0-9a-f]+):\t([^/]*)", line)):
            current.append((int(op[1], 16), op[2].strip()))
    return found


def inner_loop(code):
    """The first loop without a loop in it that multiplies and does not prefetch: a key of an iteration."""
    for at, (address, text) in enumerate(code):
        jump = re.match(r"(?:b\.\w+|cbn?z\t\w+,)\s*([0-9a-f]+)", text)
        if not jump or int(jump[1], 16) > address:
            continue
        body = [op for op in code[:at + 1] if op[0] >= int(jump[1], 16)]
        texts = [op[1] for op in body]
        loads_hash = any(re.match(r"ldr\tx\d+, \[x\d+, x\d+, lsl #3\]|ldr\tx\d+, \[x\d+\], #8", text) for text in texts)
        if loads_hash and any("mul" in text for text in texts) and not any("prfm" in text for text in texts):
            return texts
    raise SystemExit("no inner loop found: the kernels have changed their shape")


def cycles(texts, cpu):
    """Cycles of an iteration."""
    # Targets of branches are addresses; to the model a branch is a branch.
    source = "\n".join(re.sub(r"[0-9a-f]+ <.*>", "#4", text) for text in texts)
    run = subprocess.run(["llvm-mca-19", "-march=aarch64", f"-mcpu={cpu}", "-iterations=1000"], input=source, text=True,
                         capture_output=True, check=True)
    return int(re.search(r"Total Cycles:\s+(\d+)", run.stdout)[1]) / 1000


def main(cpus):
    lines = sys.stdin.read().splitlines()
    loops = {level: [inner_loop(code) for code in functions(lines, f"sketchline::simd::{level}::contains_batch")]
             for level in ("neon", "portable")}
    print(f"{'':22}{'instructions':>24}" + "".join(f"{cpu:>26}" for cpu in cpus))
    print(f"{'cycles per key':22}{'neon    portable':>24}" + f"{'neon  portable  ratio':>26}" * len(cpus))
    for name, neon, portable in zip(CLASSES, *loops.values(), strict=True):
        row = f"{name:22}{len(neon):>15}{len(portable):>9}"
        for cpu in cpus:
            a, b = cycles(neon, cpu), cycles(portable, cpu)
            row += f"{a:>12.1f}{b:>9.1f}{b / a:>5.2f}"
        print(row)


if __name__ == "__main__":
    main(sys.argv[1:])
