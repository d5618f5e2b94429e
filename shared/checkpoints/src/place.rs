//! Which place a URL means, and how to reach it.

use std::path::PathBuf;

use object_store::path::Path;

use crate::CheckpointError;

/// Where checkpoints are kept.
#[derive(Debug, PartialEq)]
pub(crate) enum Place {
    /// Under a directory.
    Directory(PathBuf),
    /// In a bucket of S3 or whatever talks like it, under a prefix.
    Bucket {
        /// The bucket.
        bucket: String,
        /// The prefix; the root if there is none.
        prefix: Path,
    },
}

impl Place {
    /// The place that a URL, or the plain path of a directory, means.
    pub(crate) fn parse(url: &str) -> Result<Self, CheckpointError> {
        let wrong = |why: &str| CheckpointError::Url { url: url.to_owned(), why: why.to_owned() };
        let Some((scheme, rest)) = url.split_once("://") else {
            return match url {
                "" => Err(wrong("it is empty")),
                path => Ok(Self::Directory(path.into())),
            };
        };
        match scheme {
            "file" if rest.starts_with('/') => Ok(Self::Directory(rest.into())),
            "file" => Err(wrong("its directory does not begin with /")),
            "s3" => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                if bucket.is_empty() {
                    return Err(wrong("it has no bucket"));
                }
                let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
                if !bucket.chars().all(is_part) {
                    return Err(wrong(
                        "a bucket's name has letters, digits, `-`, `.` and `_` without accents",
                    ));
                }
                if prefix.starts_with('/') {
                    return Err(wrong("its prefix begins with /"));
                }
                let prefix = Path::parse(prefix).map_err(|error| wrong(&error.to_string()))?;
                Ok(Self::Bucket { bucket: bucket.to_owned(), prefix })
            }
            _ => Err(wrong(&format!("`{scheme}` is not known"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_mean_places() {
        let directory = |path: &str| Place::Directory(path.into());
        let bucket = |prefix: &str| Place::Bucket { bucket: "b".to_owned(), prefix: prefix.into() };
        for (url, place) in [
            ("file:///some/where", directory("/some/where")),
            ("some/where", directory("some/where")),
            ("s3://b", bucket("")),
            ("s3://b/", bucket("")),
            ("s3://b/some/where/", bucket("some/where")),
        ] {
            assert_eq!(Place::parse(url).unwrap(), place, "{url}");
        }
    }

    #[test]
    fn other_urls_are_refused_and_named() {
        for url in [
            "",
            "file://host/some",
            "s3://",
            "s3:///some",
            "s3://b//a",
            "s3://a b/c",
            "s3://b\u{e9}",
            "s3://k:s@b",
            "ftp://b/some",
        ] {
            let error = Place::parse(url).unwrap_err();
            assert!(matches!(error, CheckpointError::Url { .. }), "{url}");
            let text = error.to_string();
            assert!(text.contains(&format!("`{url}`")) && text.contains("s3://BUCKET"), "{text}");
        }
    }
}
