//! Arguments that the programs share.

use crate::machine::{Size, sizes};
use crate::queries::Op;
use std::path::PathBuf;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Args {
    /// Sketches, by name.
    pub sketches: Vec<&'static str>,
    /// Sizes, smallest first.
    pub sizes: Vec<Size>,
    /// Operations, inserting last.
    pub ops: Vec<Op>,
    /// A short run: few rounds, 256 MiB for memory.
    pub quick: bool,
    /// Rounds that count.
    pub rounds: usize,
    /// Where to write all rows as JSON.
    pub json: Option<PathBuf>,
    /// Where to draw.
    pub svg: Option<PathBuf>,
}

const OPTIONS: &str = "  \
  --sketch SKETCHES  bloom, hll, cms, or several with commas (all)
  --size SIZES       of bloom and cms: l2, l3, memory, or several with commas (all)
  --op OPS           of bloom: absent, present, mixed, insert, or several with commas (all)
  --rounds N         rounds that count (41; with --quick 7)
  --quick            two to three minutes: few rounds, 256 MiB for memory, fewer probes for the FPR
";
const FILES: &str = "  \
  --json FILE        all rows: sketch, contender, level, op, mode, size, bytes, bits_per_key, ns, fpr, limit_ns, and rmse of hll, error of cms
  --svg DIR          plots: ns per key against filter size, FPR against bits per key
";

impl Args {
    /// Those of the command line. Ends the program after `--help`, and where they make no sense.
    pub fn parse(about: &str, with_files: bool) -> Self {
        match Self::from(std::env::args().skip(1), with_files) {
            Ok(Some(args)) => args,
            Ok(None) => {
                println!("{about}\n\n{OPTIONS}{}  --help             this text", if with_files { FILES } else { "" });
                std::process::exit(0)
            }
            Err(what) => {
                eprintln!("{what}; --help lists what there is");
                std::process::exit(2)
            }
        }
    }

    /// `None` if help was asked for.
    fn from(mut words: impl Iterator<Item = String>, with_files: bool) -> Result<Option<Self>, String> {
        let (mut quick, mut rounds, mut json, mut svg) = (false, None, None, None);
        let (mut sketch_names, mut size_names, mut op_names) = (String::new(), String::new(), String::new());
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--quick" => quick = true,
                "--sketch" => sketch_names = value()?,
                "--size" => size_names = value()?,
                "--op" => op_names = value()?,
                "--rounds" => rounds = Some(value()?.parse::<usize>().map_err(|_| "--rounds needs a number")?.max(1)),
                "--json" if with_files => json = Some(value()?.into()),
                "--svg" if with_files => svg = Some(value()?.into()),
                other => return Err(format!("no option {other}")),
            }
        }
        let sketches = chosen(&sketch_names, ["bloom", "hll", "cms"], |name| name)?;
        let sizes = chosen(&size_names, sizes(quick), |size| size.name)?;
        let ops = chosen(&op_names, Op::ALL, Op::name)?;
        let rounds = rounds.unwrap_or(if quick { 7 } else { 41 });
        Ok(Some(Self { sketches, sizes, ops, quick, rounds, json, svg }))
    }
}

/// Those of `all` that are named; of no names, all.
fn chosen<T: Copy, const N: usize>(names: &str, all: [T; N], name: fn(T) -> &'static str) -> Result<Vec<T>, String> {
    let unknown = names.split(',').find(|wanted| !wanted.is_empty() && all.iter().all(|one| name(*one) != *wanted));
    if let Some(unknown) = unknown {
        return Err(format!("no {unknown}; there are {}", all.map(name).join(", ")));
    }
    Ok(all.into_iter().filter(|one| names.is_empty() || names.split(',').any(|wanted| wanted == name(*one))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Args>, String> {
        Args::from(line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned), true)
    }

    #[test]
    fn takes_what_it_documents() {
        let args =
            parse("--sketch cms,bloom --size l3,l2 --op insert,mixed --quick --json a --svg b").unwrap().unwrap();
        assert_eq!(args.sizes.iter().map(|size| size.name).collect::<Vec<_>>(), ["l2", "l3"]);
        assert_eq!(args.sketches, ["bloom", "cms"]);
        assert_eq!(args.ops, [Op::Mixed, Op::Insert]);
        assert!(args.quick && args.rounds == 7 && args.json.is_some() && args.svg.is_some());
        assert!(parse("--help").unwrap().is_none());
        for wrong in ["--size l4", "--op look", "--sketch kll", "--rounds x", "--rounds", "--fast"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
