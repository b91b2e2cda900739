//! Counters of the CPU and of the kernel, through `perf_event_open`.

use crate::machine::is_virtual;
use std::fs::read_to_string;
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What can be counted: name, type and number as `perf_event_open(2)` gives them.
const EVENTS: [(&str, u32, u64); 9] = [
    ("cycles", HARDWARE, 0),
    ("instructions", HARDWARE, 1),
    ("branch misses", HARDWARE, 5),
    ("L1 misses", CACHE, read_misses(0)),
    ("LLC misses", CACHE, read_misses(2)),
    ("dTLB misses", CACHE, read_misses(3)),
    ("task clock", SOFTWARE, 1),
    ("page faults", SOFTWARE, 2),
    ("switches", SOFTWARE, 3),
];
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;

const fn read_misses(cache: u64) -> u64 {
    cache | 1 << 16
}

/// `struct perf_event_attr`, as its first version has it.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_type: u32,
    breakpoint: u64,
}

const TOTAL_TIME_ENABLED_AND_RUNNING: u64 = 3;
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;

/// The counters of this thread, as many as the machine gives.
#[derive(Debug)]
pub struct Counters {
    open: Vec<Option<OwnedFd>>,
    why_not: Option<String>,
}

impl Counters {
    /// Opens all that can be opened; they stand still.
    pub fn open() -> Self {
        let mut why_not = None;
        let open = EVENTS.map(|(_, kind, config)| match open(kind, config) {
            Ok(counter) => Some(counter),
            Err(error) => {
                if kind != SOFTWARE {
                    why_not.get_or_insert_with(|| reason(&error));
                }
                None
            }
        });
        Self { open: open.into(), why_not }
    }

    /// Why there are no hardware counters, or fewer than there should be.
    pub fn why_not(&self) -> Option<&str> {
        self.why_not.as_deref()
    }

    /// Their names, in the order of [`Counters::read`].
    pub fn names() -> [&'static str; EVENTS.len()] {
        EVENTS.map(|(name, ..)| name)
    }

    /// Lets them run during `work`.
    pub fn count(&self, work: impl FnOnce()) {
        // SAFETY: starts and stops the counters of this thread; no memory is given.
        unsafe { libc::prctl(libc::PR_TASK_PERF_EVENTS_ENABLE) };
        work();
        // SAFETY: as above.
        unsafe { libc::prctl(libc::PR_TASK_PERF_EVENTS_DISABLE) };
    }

    /// What they counted since they were opened. Where the CPU had to share its counters out: scaled up.
    pub fn read(&self) -> Vec<Option<f64>> {
        self.open.iter().map(|counter| read(counter.as_ref()?)).collect()
    }
}

fn open(kind: u32, config: u64) -> Result<OwnedFd, Error> {
    let mut attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        read_format: TOTAL_TIME_ENABLED_AND_RUNNING,
        flags: DISABLED,
        ..Attributes::default()
    };
    // The software ones happen in the kernel. What it does for us is not the filter's work, though.
    if kind != SOFTWARE {
        attributes.flags |= EXCLUDE_KERNEL_AND_HYPERVISOR;
    }
    let (this_thread, any_cpu, no_group, close_on_exec) = (0, -1, -1, 8);
    // SAFETY: the attributes are readable, and as long as they say.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, this_thread, any_cpu, no_group, close_on_exec)
    };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn read(counter: &OwnedFd) -> Option<f64> {
    let mut values = [0u64; 3];
    let len = size_of_val(&values);
    // SAFETY: so many bytes are writable.
    let got = unsafe { libc::read(counter.as_raw_fd(), values.as_mut_ptr().cast(), len) };
    let [count, enabled, running] = values.map(|value| value as f64);
    (got == len as isize && running > 0.0).then(|| count * enabled / running)
}

fn reason(error: &Error) -> String {
    let paranoid = read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let why = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) if is_virtual() => {
            "this is a virtual machine, and its hypervisor passes no hardware counters on".into()
        }
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => "the kernel knows no such counter on this CPU".into(),
        Some(libc::EACCES | libc::EPERM) => {
            format!("not allowed: /proc/sys/kernel/perf_event_paranoid is {}, 2 or less is needed", paranoid.trim())
        }
        Some(libc::ENOSYS) => "the kernel was built without performance events".into(),
        _ => "perf_event_open failed".into(),
    };
    format!("{why} ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters or a reason; and what is counted was done.
    #[test]
    fn counts_or_says_why_not() {
        let counters = Counters::open();
        counters.count(|| {
            std::hint::black_box((0..1_000_000u64).fold(0, |sum, i| sum ^ std::hint::black_box(i)));
        });
        let read = counters.read();
        assert_eq!(read.len(), Counters::names().len());
        assert!(counters.why_not().is_some() || read[1].is_some_and(|instructions| instructions > 1e6));
    }
}
