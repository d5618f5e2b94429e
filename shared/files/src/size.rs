//! Numbers of bytes.

/// A number of bytes as a person says it: `1.10 GB`, powers of 1000.
pub fn size(bytes: impl Into<u128>) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes.into() as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_look_as_a_person_writes_them() {
        assert_eq!(size(1_102_960_776u64), "1.10 GB");
        assert_eq!(size(999u64), "999 B");
        assert_eq!(size(999_999u64), "1.00 MB");
    }
}
