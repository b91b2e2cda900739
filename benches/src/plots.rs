//! Plots, as SVG: both axes logarithmic.

use crate::contender::{LIMIT, Mode, OURS};
use crate::machine::bytes;
use crate::measure::{FprPoint, Row};
use crate::report::least;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

const SIZE: (u32, u32) = (900, 560);
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 90, 181),
    RGBColor(220, 50, 32),
    RGBColor(0, 140, 90),
    RGBColor(170, 100, 0),
    RGBColor(120, 60, 160),
    RGBColor(140, 140, 140),
    RGBColor(200, 80, 140),
    RGBColor(0, 150, 170),
];

/// What is drawn around the curves.
struct Frame {
    title: &'static str,
    x: &'static str,
    y: &'static str,
    x_marks: Vec<f64>,
    x_label: fn(&f64) -> String,
    names_at: SeriesLabelPosition,
    /// Room above the highest point, as a factor.
    headroom: f64,
}

/// A line of a plot, or its points, or both.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    colour: RGBColor,
    with_line: bool,
    with_points: bool,
}

/// Nanoseconds per key against bytes of the filter, the fastest call of each contender.
///
/// # Errors
/// Those of writing the file.
pub fn time_against_size(file: &Path, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let mut names: Vec<(&str, Option<&str>)> = vec![(OURS, None), (OURS, Some("avx2")), (OURS, Some("portable"))];
    for row in rows {
        let name = row.call.contender;
        if !name.starts_with(OURS) && names.iter().all(|(known, _)| *known != name) {
            names.push((name, None));
        }
    }
    let curve = |((contender, level), colour): ((&str, Option<&str>), &RGBColor)| Curve {
        name: match level {
            Some(level) => format!("{contender}, {level}"),
            None if contender == LIMIT => "random line reads".into(),
            None => contender.into(),
        },
        points: fastest_by_size(rows, contender, level),
        colour: if contender == LIMIT { BLACK } else { *colour },
        with_line: true,
        with_points: true,
    };
    let curves: Vec<_> = names.into_iter().zip(COLOURS.iter().cycle()).map(curve).collect();
    let frame = Frame {
        title: "Look-up of absent keys, 12 bits per key",
        x: "filter size",
        y: "ns per key",
        x_marks: (16..40).step_by(2).map(|power| f64::from(power).exp2()).collect(),
        x_label: |x| bytes(*x as u64),
        names_at: SeriesLabelPosition::UpperLeft,
        headroom: 8.0,
    };
    draw(file, frame, &curves)
}

fn fastest_by_size(rows: &[Row], contender: &str, level: Option<&str>) -> Vec<(f64, f64)> {
    let mut sizes: Vec<_> = rows.iter().map(|row| row.size.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of = |bytes: u64| {
        least(rows.iter().filter(|row| {
            let is_mode = contender != OURS || row.call.mode == Mode::Batch;
            let is_level = level.is_none_or(|level| row.call.level == level);
            row.size.bytes == bytes && row.call.contender == contender && is_mode && is_level
        }))
    };
    sizes.into_iter().filter_map(|bytes| Some((bytes as f64, of(bytes)?))).collect()
}

/// FPR against bits per key: points by counting, lines by theory.
///
/// # Errors
/// Those of writing the file.
pub fn fpr_against_bits(file: &Path, points: &[FprPoint]) -> Result<(), Box<dyn Error>> {
    let mut names: Vec<_> = points.iter().map(|point| point.contender).collect();
    names.sort_unstable();
    names.dedup();
    let mut curves = Vec::new();
    for (name, &colour) in names.into_iter().zip(&COLOURS) {
        let of = |value: fn(&FprPoint) -> f64| {
            let mine = points.iter().filter(|point| point.contender == name);
            mine.map(|point| (point.bits_per_key, 100.0 * value(point))).collect()
        };
        let curve = |name, points, is_theory: bool| Curve {
            name,
            points,
            colour,
            with_line: is_theory,
            with_points: !is_theory,
        };
        curves.push(curve(format!("{name}, measured"), of(|point| point.measured), false));
        curves.push(curve(format!("{name}, predicted"), of(|point| point.predicted), true));
    }
    let mut x_marks: Vec<_> = points.iter().map(|point| point.bits_per_key).collect();
    x_marks.sort_by(f64::total_cmp);
    x_marks.dedup();
    let frame = Frame {
        title: "False positives",
        x: "bits per key",
        y: "FPR in %",
        x_marks,
        x_label: |x| format!("{x:.0}"),
        names_at: SeriesLabelPosition::UpperRight,
        headroom: 1.5,
    };
    draw(file, frame, &curves)
}

fn draw(file: &Path, frame: Frame, curves: &[Curve]) -> Result<(), Box<dyn Error>> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let all = || curves.iter().flat_map(|curve| &curve.points).map(of);
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    };
    let ((left, right), (low, high)) = (range(|point| point.0), range(|point| point.1));
    if left > right {
        return Ok(());
    }
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (x, y) = (left * 0.9..right * 1.1, low * 0.7..high * frame.headroom);
    let inside = |range: &std::ops::Range<f64>, marks: Vec<f64>| {
        marks.into_iter().filter(|x| range.contains(x)).collect::<Vec<_>>()
    };
    let (x_marks, y_marks) = (inside(&x, frame.x_marks), inside(&y, one_two_five()));
    let (x_count, y_count) = (x_marks.len(), y_marks.len());
    let (x, y) = (x.log_scale().with_key_points(x_marks), y.log_scale().with_key_points(y_marks));
    let mut chart = ChartBuilder::on(&root)
        .caption(frame.title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(frame.x)
        .y_desc(frame.y)
        .x_labels(x_count)
        .y_labels(y_count)
        .x_label_formatter(&frame.x_label)
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(WHITE)
        .draw()?;
    for curve in curves {
        let (colour, line) = (curve.colour, if curve.with_line { &curve.points[..] } else { &[] });
        let radius = if curve.with_points { 3 } else { 0 };
        let ends = if curve.with_line { 20 } else { 0 };
        chart.draw_series(curve.points.iter().map(|&point| Circle::new(point, radius, colour.filled())))?;
        chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)))?.label(&curve.name).legend(
            move |(x, y)| {
                let line = PathElement::new([(x, y), (x + ends, y)], colour.stroke_width(2));
                EmptyElement::at((0, 0)) + line + Circle::new((x + 10, y), radius, colour.filled())
            },
        );
    }
    let mut names = chart.configure_series_labels();
    names.border_style(BLACK).background_style(WHITE).position(frame.names_at).draw()?;
    root.present()?;
    Ok(())
}

/// 0.001, 0.002, 0.005, 0.01 .. 5,000.
fn one_two_five() -> Vec<f64> {
    (-3..4).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power))).collect()
}
