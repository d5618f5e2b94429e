//! Which place a URL means, and how to reach it.

use std::path::PathBuf;

use object_store::path::Path;

use crate::{
    CheckpointError,
    cloud::{CLOUDS, Cloud},
};

/// Where checkpoints are kept.
#[derive(Debug, PartialEq)]
pub(crate) enum Place {
    /// Under a directory.
    Directory(PathBuf),
    /// In a bucket of a cloud, or of whatever talks like it, under a prefix.
    Bucket {
        /// Which cloud.
        cloud: &'static Cloud,
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
        if scheme == "file" {
            return match rest.starts_with('/') {
                true => Ok(Self::Directory(rest.into())),
                false => Err(wrong("its directory does not begin with /")),
            };
        }
        let Some(cloud) = CLOUDS.into_iter().find(|cloud| cloud.scheme == scheme) else {
            return Err(wrong(&format!("`{scheme}` is not known")));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong(&format!("it has no {}", cloud.bucket)));
        }
        (cloud.check_name)(bucket).map_err(wrong)?;
        if prefix.starts_with('/') {
            return Err(wrong("its prefix begins with /"));
        }
        let prefix = Path::parse(prefix).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self::Bucket { cloud, bucket: bucket.to_owned(), prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::{AMAZON, AZURE, GOOGLE};

    #[test]
    fn urls_mean_places() {
        let directory = |path: &str| Place::Directory(path.into());
        let bucket = |cloud, bucket: &str, prefix: &str| Place::Bucket {
            cloud,
            bucket: bucket.to_owned(),
            prefix: prefix.into(),
        };
        for (url, place) in [
            ("file:///some/where", directory("/some/where")),
            ("some/where", directory("some/where")),
            ("s3://b", bucket(&AMAZON, "b", "")),
            ("s3://b/", bucket(&AMAZON, "b", "")),
            ("s3://b/some/where/", bucket(&AMAZON, "b", "some/where")),
            ("gs://royal_game.of-ur", bucket(&GOOGLE, "royal_game.of-ur", "")),
            ("gs://ur5/some/where", bucket(&GOOGLE, "ur5", "some/where")),
            ("az://royal-game/some/where/", bucket(&AZURE, "royal-game", "some/where")),
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
            "gs://",
            "gs://ur",
            "gs://Royal",
            "gs://royal-",
            "gs://.royal",
            "gs://royal..game",
            "gs://royal//game",
            &format!("gs://{}", "r".repeat(64)),
            "az://",
            "az://ur",
            "az://Royal",
            "az://royal_game",
            "az://royal.game",
            "az://royal--game",
            "az://-royal",
            "az://royal@account.blob.core.windows.net/game",
            "azure://royal/game",
            &format!("az://{}", "r".repeat(64)),
            "ftp://b/some",
        ] {
            let error = Place::parse(url).unwrap_err();
            assert!(matches!(error, CheckpointError::Url { .. }), "{url}");
            let text = error.to_string();
            assert!(text.contains(&format!("`{url}`")), "{text}");
            for form in ["file:///", "s3://BUCKET/", "gs://BUCKET/", "az://CONTAINER/"] {
                assert!(text.contains(form), "{text}");
            }
        }
    }
}
