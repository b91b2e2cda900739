//! What the benches report (compilers), and what they link: the C library, and one header of RocksDB.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version_of = |program: String, flag| output(Command::new(program).arg(flag)).lines().next().map(str::to_owned);
    let rustc = version_of(var("RUSTC"), "-V").unwrap_or_default();
    let cc = version_of(std::env::var("CC").unwrap_or("cc".into()), "--version").unwrap_or_default();
    println!("cargo::rustc-env=BENCH_RUSTC={rustc}\ncargo::rustc-env=BENCH_CC={cc}");
    let out = PathBuf::from(var("OUT_DIR"));
    if std::env::var_os("CARGO_FEATURE_CAPI").is_some() {
        link_c_library(&out);
    }
    #[cfg(feature = "rocksdb")]
    rocksdb::compile_header();
}

/// Links the C library as one object that shows `skl_` symbols and nothing else: its copy of the Rust runtime
/// must not meet the one of this program. Linked as an object of its own, so that calls cross the real boundary.
fn link_c_library(out: &Path) {
    println!("cargo::rerun-if-env-changed=SKETCHLINE_LIB");
    // OUT_DIR is TARGET/PROFILE/build/NAME/out.
    let target = out.ancestors().nth(4).expect("the target directory");
    let default = target.join("release/libsketchline.a");
    let library = std::env::var_os("SKETCHLINE_LIB").map_or(default, PathBuf::from);
    println!("cargo::rerun-if-changed={}", library.display());
    assert!(library.exists(), "{} is missing: run `make lib` first", library.display());

    let listed = output(Command::new("nm").args(["--defined-only", "--extern-only", "-j"]).arg(&library));
    let symbols = listed.lines().filter(|line| line.starts_with("skl_") && !line.contains(':'));
    let (object, archive) = (out.join("sketchline.o"), out.join("libsketchline_c.a"));
    let roots = symbols.flat_map(|symbol| ["-u", symbol]);
    output(Command::new("ld").args(["-r", "--gc-sections", "-o"]).arg(&object).args(roots).arg(&library));
    output(Command::new("objcopy").args(["--wildcard", "--keep-global-symbol=skl_*"]).arg(&object));
    let _ = std::fs::remove_file(&archive);
    output(Command::new("ar").arg("rcs").args([&archive, &object]));
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=sketchline_c");
}

#[cfg(feature = "rocksdb")]
mod rocksdb {
    use super::*;

    /// Compiles `rocksdb/shim.cc`, which includes RocksDB's `util/bloom_impl.h`, as an engine that wants its best
    /// would: `-O3 -march=native`. Loops aligned, since its single look-up in L2 takes 1.2 or 1.7 ns on Zen 5 as the
    /// linker happens to place it.
    pub(super) fn compile_header() {
        println!("cargo::rerun-if-changed=rocksdb");
        let sources = sources().join("rocksdb");
        cc::Build::new()
            .cpp(true)
            .std("c++20")
            .flag("-O3")
            .flag("-march=native")
            .flag("-falign-loops=64")
            .warnings(false)
            .define("NDEBUG", None)
            .define("ROCKSDB_PLATFORM_POSIX", None)
            .define("ROCKSDB_LIB_IO_POSIX", None)
            .define("OS_LINUX", None)
            .include(sources.join("include"))
            .include(&sources)
            .file("rocksdb/shim.cc")
            .compile("rocksdb_header");
    }

    /// Where cargo keeps the sources of `librocksdb-sys`, fetched if need be. To depend on the crate would build
    /// all of RocksDB; `rocksdb/Cargo.toml` depends on it and is never built.
    fn sources() -> PathBuf {
        let metadata = |offline: &[&str]| {
            let mut cargo = Command::new(var("CARGO"));
            cargo
                .args(["metadata", "--format-version=1", "--locked", "--manifest-path=rocksdb/Cargo.toml"])
                .args(offline);
            cargo.output().expect("cargo runs")
        };
        let mut found = metadata(&["--offline"]);
        if !found.status.success() {
            found = metadata(&[]);
        }
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        let json = String::from_utf8(found.stdout).expect("UTF-8");
        let manifest = json.split("\"manifest_path\":\"").filter_map(|rest| rest.split('"').next());
        let manifest = manifest.map(Path::new).find(|path| path.to_string_lossy().contains("/librocksdb-sys-"));
        manifest.and_then(Path::parent).expect("librocksdb-sys is a dependency").to_owned()
    }
}

fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// What a command prints. It must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
