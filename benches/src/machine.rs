//! What the benches ran on, and the sizes that follow from it.

use crate::limit::latency;
use sketchline::Isa;
use std::fs::read_to_string;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bytes of a filter, named after where it is at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// `l2`, `l3`, `memory`; `curve` for the points of a plot.
    pub name: &'static str,
    /// Bytes of the filter alone, whole lines.
    pub bytes: u64,
}

impl Size {
    /// Keys at so many bits each.
    pub fn keys(&self, bits_per_key: f64) -> u64 {
        ((self.bytes * 8) as f64 / bits_per_key) as u64
    }
}

/// A quarter of L2; 20 MiB or 60 % of L3; 2 GiB or an eighth of what there is.
///
/// A quick run takes 256 MiB for memory: still many times L3, and filled in seconds.
pub fn sizes(quick: bool) -> [Size; 3] {
    let memory = if quick { 256 * MIB } else { 2048 * MIB };
    let part = (memory_bytes("MemTotal") / 8).min(memory_bytes("MemAvailable") / 9);
    let lines = |bytes: u64| bytes / 64 * 64;
    [
        Size { name: "l2", bytes: lines(cache_bytes(2) / 4) },
        Size { name: "l3", bytes: lines((20 * MIB).min(cache_bytes(3) * 6 / 10)) },
        Size { name: "memory", bytes: memory.min(1 << part.max(64 * MIB).ilog2()) },
    ]
}

/// Bytes of a level of data cache, from sysfs; where it does not say, 1 MiB and 32 MiB.
pub fn cache_bytes(level: u32) -> u64 {
    let cache = |index: u32| {
        let read = |file| read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}")).ok();
        let is_it = read("level")?.trim().parse() == Ok(level) && read("type")?.trim() != "Instruction";
        let size = read("size")?;
        is_it.then(|| Some(KIB * size.trim().strip_suffix('K')?.parse::<u64>().ok()?))?
    };
    let unknown = match level {
        1 => 32 * KIB,
        2 => MIB,
        _ => 32 * MIB,
    };
    (0..8).find_map(cache).unwrap_or(unknown)
}

fn memory_bytes(what: &str) -> u64 {
    let kib = field("/proc/meminfo", what).and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(8 << 20) * KIB
}

/// The value in the first line of the form `name: value`.
pub fn field(file: &str, name: &str) -> Option<String> {
    let text = read_to_string(file).ok()?;
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

/// CPU, levels, compilers, pages, caches, load and the sizes to run at, a line each.
pub fn report(sizes: &[Size]) -> String {
    let setting = |file: &str| read_to_string(file).ok().map_or("unknown".into(), |text| text.trim().to_owned());
    let levels: Vec<_> = Isa::available().map(Isa::name).collect();
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let virtual_machine = if is_virtual() { ", in a virtual machine" } else { "" };
    let size = |size: &Size| format!("{} {} ({:.0} ns)", size.name, bytes(size.bytes), latency(*size));
    let lines = [
        ("CPU", format!("{}{virtual_machine}", cpu_name())),
        ("levels", levels.join(", ")),
        ("compilers", format!("{}; {}", env!("BENCH_RUSTC"), env!("BENCH_CC"))),
        ("pages", format!("{page} bytes; huge: {}", setting("/sys/kernel/mm/transparent_hugepage/enabled"))),
        ("caches", format!("L1 {}, L2 {}, L3 {}", bytes(cache_bytes(1)), bytes(cache_bytes(2)), bytes(cache_bytes(3)))),
        ("memory", format!("{}, {} free", bytes(memory_bytes("MemTotal")), bytes(memory_bytes("MemAvailable")))),
        ("load", format!("{} before this run", setting("/proc/loadavg"))),
        ("sizes", format!("{}: a read that waits for the last", sizes.iter().map(size).collect::<Vec<_>>().join(", "))),
    ];
    lines.map(|(what, value)| format!("{what:<10} {value}\n")).concat()
}

fn cpu_name() -> String {
    let x86 = field("/proc/cpuinfo", "model name");
    let family = field("/proc/cpuinfo", "cpu family").zip(field("/proc/cpuinfo", "model"));
    match (x86, family) {
        (Some(name), Some((family, model))) => format!("{name} (family {family}, model {model})"),
        (Some(name), None) => name,
        _ => field("/proc/cpuinfo", "CPU part").map_or(std::env::consts::ARCH.into(), |part| format!("part {part}")),
    }
}

/// Whether a hypervisor shows itself.
pub fn is_virtual() -> bool {
    field("/proc/cpuinfo", "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

/// How much of the memory in use is in huge pages.
pub fn huge_share() -> f64 {
    let kib =
        |name| field("/proc/self/smaps_rollup", name).and_then(|value| value.split(' ').next()?.parse::<f64>().ok());
    kib("AnonHugePages").zip(kib("Rss")).map_or(0.0, |(huge, all)| huge / all.max(1.0))
}

/// `256 KiB`, `19.2 MiB`.
pub fn bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    let (value, unit) = match bytes {
        ..1_048_576.0 => (bytes / 1024.0, "KiB"),
        ..1_073_741_824.0 => (bytes / 1_048_576.0, "MiB"),
        _ => (bytes / 1_073_741_824.0, "GiB"),
    };
    let digits = usize::from(value.fract() > 0.05);
    format!("{value:.digits$} {unit}")
}
