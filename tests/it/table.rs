//! The tables that the tests print and the manual shows: rows that are worked by two at a time, and the comparison with a page, both ways. It
//! knows no row's meaning.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `work` makes of each row, in the order of the rows; two are at work at a time.
pub fn each<T: Sync, R: Send>(rows: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let turn = || {
            let mut done = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(row) = rows.get(n) else {
                    return done;
                };
                done.push((n, work(row)));
            }
        };
        let workers = [scope.spawn(turn), scope.spawn(turn)];
        let ended = workers.map(|worker| worker.join());
        ended
            .into_iter()
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, made)| made).collect()
}

/// Fails unless the table of the page of section 7 has a row for each of `names`, in this order and no other, and `rows` as they stand there:
/// those of `names` that were tried here.
#[track_caller]
pub fn assert_told(page: &str, names: &[&str], rows: &[Vec<String>]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("man/man7/{page}.7"));
    let told = table(&fs::read_to_string(file).unwrap());
    let differs = compare(&told, names, rows);
    assert!(differs.is_empty(), "{page}(7): {differs:#?}");
}

/// The cells of the first table of a page, without its head.
fn table(page: &str) -> Vec<Vec<String>> {
    let page = page.replace("\\-", "-");
    let columns = regex::Regex::new(" {2,}").unwrap();
    let table = page.lines().skip_while(|line| *line != ".nf").skip(1);
    let lines = table
        .take_while(|line| *line != ".fi")
        .filter(|line| !line.starts_with("\\&"));
    lines
        .map(|line| columns.split(line).map(str::to_owned).collect())
        .collect()
}

fn compare(told: &[Vec<String>], names: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let told_names: Vec<&str> = told.iter().map(|row| &*row[0]).collect();
    let untold = rows.iter().filter(|row| !told.contains(row));
    let mut differs: Vec<String> = untold
        .map(|row| format!("it does not say {}", row.join("|")))
        .collect();
    if told_names != names {
        differs.push(format!(
            "its rows are {told_names:#?}, the test's {names:#?}"
        ));
    }
    differs
}

#[test]
fn a_row_that_only_one_side_has_is_a_difference() {
    let page = ".SH DESCRIPTION\n.nf\n\\&     a  b\none\\-two  works  x y\nthree  refused  -\n.fi\n.nf\nfour  no  table\n.fi\n";
    let told = table(page);
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let rows = [
        row(["one-two", "works", "x y"]),
        row(["three", "refused", "-"]),
    ];
    assert_eq!(told, rows);
    let names = ["one-two", "three"];
    assert!(compare(&told, &names, &rows).is_empty());
    assert!(compare(&told, &names, &rows[..1]).is_empty(), "not tried");
    let other = [row(["three", "works", "-"])];
    assert_eq!(compare(&told, &names, &other).len(), 1);
    assert_eq!(compare(&told, &names[..1], &rows[..1]).len(), 1, "no test");
    let more = [&names[..], &["four"]].concat();
    assert_eq!(compare(&told, &more, &rows).len(), 1, "no row in the page");
}

#[test]
fn every_row_is_worked_once_and_in_its_place() {
    let rows: Vec<usize> = (0..50).collect();
    assert_eq!(
        each(&rows, |n| n * 2),
        rows.iter().map(|n| n * 2).collect::<Vec<_>>()
    );
}
