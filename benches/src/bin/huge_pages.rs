//! What huge pages are worth to a filter, by its size: the threshold in `ffi/src/memory.rs` comes from here.

use sketchline::{BLOCK_BYTES, BloomRef, HashScheme, Hashes, KeyHash};
use sketchline_benches::memory::{SharedLines, touch};
use sketchline_benches::stats::median;
use sketchline_benches::{RUN_KEYS, machine};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 41;

fn main() {
    if std::env::args().len() > 1 {
        println!("huge_pages: ns per key of absent look-ups in pages of 4 KiB and of 2 MiB, by size. No arguments.");
        return;
    }
    print!("{}", machine::report(&[]));
    println!(
        "\n                batch, ns per key            single, ns per key\nsize          4 KiB    2 MiB   gain          4 KiB    2 MiB   gain"
    );
    let mut next = 0;
    for kib in [256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 16_384, 65_536, 262_144, 1_048_576] {
        let len = kib * 1024 / BLOCK_BYTES;
        let mut memories = [SharedLines::zeroed_in_small_pages(len), SharedLines::zeroed(len)];
        memories.iter_mut().for_each(|memory| memory.lines_mut().as_flattened_mut().fill(0x55));
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            for (memory, times) in memories.iter().zip(times.chunks_mut(2)) {
                let filter = BloomRef::over_payload(memory.lines().as_flattened(), 8, HashScheme::NATIVE);
                let filter = filter.expect("whole lines");
                touch(filter.as_bytes());
                let mut out = [0; RUN_KEYS / 64];
                let keys = hashes(&mut next);
                times[0].push(timed(|| filter.contains_batch(&Hashes(&keys), &mut out).expect("room for the answers")));
                let keys = hashes(&mut next);
                let single = || keys.iter().filter(|&&hash| filter.contains_hash(KeyHash::from_raw(hash))).count();
                times[1].push(timed(|| drop(black_box(vec![single()]))));
            }
        }
        let [small_batch, small_single, huge_batch, huge_single] = times.map(|mut times| median(&mut times));
        println!(
            "{:<12} {small_batch:>6.2} {huge_batch:>8.2} {:>6.2} {small_single:>14.2} {huge_single:>8.2} {:>6.2}",
            machine::bytes((kib * 1024) as u64),
            small_batch / huge_batch,
            small_single / huge_single,
        );
    }
}

fn hashes(next: &mut u64) -> Vec<u64> {
    *next += RUN_KEYS as u64;
    (*next - RUN_KEYS as u64..*next).map(|i| KeyHash::of_u64(i, 0).raw()).collect()
}

fn timed(work: impl FnOnce()) -> f64 {
    let clock = Instant::now();
    work();
    clock.elapsed().as_nanos() as f64 / RUN_KEYS as f64
}
