//! Azure Blob Storage (Azure Storage, REST API reference, "Blob Storage error codes", "Common REST API error codes").

use object_store::{
    Error, RetryConfig,
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
};

use super::table::{Build, Client, Cloud, build, is_small};
use crate::{
    CheckpointError,
    given::{Given, wrong},
    said::{Refused, Said},
};

const ACCOUNT: &str = "azure_storage_account_name";
const KEY: &str = "azure_storage_account_key";
const SAS: &str = "azure_storage_sas_key";
const TOKEN: &str = "azure_storage_token";
const CLIENT: &str = "azure_storage_client_id";
const SECRET: &str = "azure_storage_client_secret";
const TENANT: &str = "azure_storage_tenant_id";
const TOKEN_FILE: &str = "azure_federated_token_file";
const ENDPOINT: &str = "azure_storage_endpoint";
const AUTHORITY: &str = "azure_storage_authority_host";
const MACHINE: &str = "azure_msi_endpoint";

/// The secret of a machine's [endpoint](MACHINE), which the library reads itself.
const MACHINE_SECRET: &str = "identity_header";

pub(crate) static AZURE: Cloud = Cloud {
    scheme: "az",
    protocol: "Azure Blob Storage",
    bucket: "container",
    prefix: "AZURE_",
    check_name: |name| {
        let is_right =
            (3..=63).contains(&name.len()) && is_small(name, "-") && !name.contains("--");
        match is_right {
            true => Ok(()),
            false => {
                Err("a container's name has 3 to 63 small letters, digits and single `-`, and \
                          begins and ends with a letter or a digit")
            }
        }
    },
    option_of: |variable| match variable {
        "IDENTITY_ENDPOINT" => Some(MACHINE.to_owned()),
        "IDENTITY_HEADER" => Some(MACHINE_SECRET.to_owned()),
        _ => {
            let variable = variable.starts_with("AZURE_").then(|| variable.to_ascii_lowercase())?;
            Some(variable.parse::<AzureConfigKey>().ok()?.as_ref().to_owned())
        }
    },
    named_in_url: "azure_container_name",
    words: &[
        ACCOUNT,
        KEY,
        SAS,
        TOKEN,
        CLIENT,
        SECRET,
        TENANT,
        ENDPOINT,
        AUTHORITY,
        MACHINE,
        MACHINE_SECRET,
        "azure_object_id",
        "azure_msi_resource_id",
        "azure_fabric_token_service_url",
        "azure_fabric_workload_host",
        "azure_fabric_session_token",
        "azure_fabric_cluster_identifier",
    ],
    urls: &[ENDPOINT, AUTHORITY, MACHINE, "azure_fabric_token_service_url"],
    hosts: &[],
    names: &[ACCOUNT, TENANT],
    texts: &[TOKEN_FILE, "proxy_ca_certificate"],
    unusable: &[
        (
            "azure_storage_use_emulator",
            "set AZURE_STORAGE_ENDPOINT=http://127.0.0.1:10000/devstoreaccount1, \
             AZURE_STORAGE_ACCOUNT_NAME=devstoreaccount1, AZURE_STORAGE_ACCOUNT_KEY and AZURE_ALLOW_HTTP=true instead",
        ),
        (
            "azure_use_azure_cli",
            "the program az is not asked for keys; set AZURE_STORAGE_TOKEN to what \
             `az account get-access-token --resource https://storage.azure.com` gives, or another key",
        ),
    ],
    ambient: &[MACHINE_SECRET],
    sources: &[TOKEN, KEY, SAS, SECRET, TOKEN_FILE],
    stand_ins: &[(ACCOUNT, "account"), (KEY, "a2V5")],
    otherwise: "AZURE_*",
    how: "set AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_SAS_TOKEN, or AZURE_CLIENT_ID, AZURE_TENANT_ID and one of \
          AZURE_CLIENT_SECRET and AZURE_FEDERATED_TOKEN_FILE (AZURE_STORAGE_CONNECTION_STRING is not read)",
    keys: "the credentials of AZURE_*, by a role such as Storage Blob Data Contributor or the permissions of a SAS,",
    condition: "If-None-Match",
    endpoint: |given| Ok(given.endpoint_in(ENDPOINT)),
    check,
    server: |given| match given.get(ACCOUNT) {
        Some(account) => {
            format!("Azure Blob Storage, account {account} (AZURE_STORAGE_ACCOUNT_NAME),")
        }
        None => "Azure Blob Storage".to_owned(),
    },
    client,
    // There is a request for it, to which Azurite answers 500 with a SAS; this one the trial of a place tries, too.
    deletes_many: false,
    conflict: |code| match code {
        "BlobAlreadyExists" => Refused::Exists,
        _ => Refused::Other,
    },
    meaning,
};

fn check(given: &Given) -> Result<(), CheckpointError> {
    if given.get(ACCOUNT).is_none() {
        let what = format!(
            "it is missing: it names the storage account (AZURE_STORAGE_ACCOUNT is not read); for its keys {}",
            AZURE.how
        );
        return Err(wrong("AZURE_STORAGE_ACCOUNT_NAME", &what));
    }
    // What goes before these needs neither a client nor a tenant.
    if given.get(TOKEN).or(given.get(KEY)).is_some() {
        return Ok(());
    }
    let Some(there) = given.variable(SECRET).or(given.variable(TOKEN_FILE)) else {
        return Ok(());
    };
    for (option, variable) in [(CLIENT, "AZURE_CLIENT_ID"), (TENANT, "AZURE_TENANT_ID")] {
        if given.get(option).is_none() {
            return Err(wrong(variable, &format!("it is missing; {there} is there")));
        }
    }
    Ok(())
}

/// The library puts a / after some.
fn client(container: &str, options: &[(&str, &str)], retry: RetryConfig) -> Result<Client, Error> {
    const BUILD: Build = build!(MicrosoftAzureBuilder, with_container_name);
    let options =
        options.iter().map(|&(option, value)| match [ENDPOINT, AUTHORITY].contains(&option) {
            true => (option, value.trim_end_matches('/')),
            false => (option, value),
        });
    BUILD(container, &options.collect::<Vec<_>>(), retry)
}

fn meaning(said: &Said, server: &str) -> Option<String> {
    let says = |words: &str| said.text.contains(words);
    let text = match said.code.as_str() {
        "AuthenticationFailed" | "InvalidAuthenticationInfo" | "AuthorizationFailure"
            if says("Request date header") =>
        {
            "the clock of this machine is wrong: set it, and keep it right (NTP)".to_owned()
        }
        "AuthenticationFailed" | "InvalidAuthenticationInfo"
            if says("time frame") || says("expired") =>
        {
            "the SAS in AZURE_STORAGE_SAS_TOKEN, or the token in AZURE_STORAGE_TOKEN, has expired, or is not valid \
             yet: get a new one"
                .to_owned()
        }
        "AuthorizationFailure" if !says("failed to authenticate") => format!(
            "{server} says no: see that the SAS allows to list, read, write and delete, and that the network rules of \
             the account let this machine in"
        ),
        "AuthenticationFailed" | "InvalidAuthenticationInfo" | "AuthorizationFailure" => {
            "AZURE_STORAGE_ACCOUNT_KEY, or the SAS or token in its place, is none of the account in \
             AZURE_STORAGE_ACCOUNT_NAME"
                .to_owned()
        }
        "KeyBasedAuthenticationNotPermitted" => {
            "the account takes no keys: unset AZURE_STORAGE_ACCOUNT_KEY, and set AZURE_CLIENT_ID, AZURE_TENANT_ID and \
             one of AZURE_CLIENT_SECRET and AZURE_FEDERATED_TOKEN_FILE"
                .to_owned()
        }
        "AuthorizationSourceIPMismatch" => {
            "the SAS in AZURE_STORAGE_SAS_TOKEN is for other addresses than this machine's".to_owned()
        }
        "AuthorizationProtocolMismatch" | "AccountRequiresHttps" => {
            "the account is not to be asked without TLS: give an https:// URL in AZURE_STORAGE_ENDPOINT".to_owned()
        }
        "AccountIsDisabled" => format!("{server} is disabled"),
        "ContainerBeingDeleted" => {
            "the container is being deleted: make another one, or the same a minute later".to_owned()
        }
        "BlobImmutableDueToPolicy" | "BlobImmutableDueToLegalHold" => {
            "a policy keeps objects of the container from being replaced or deleted: take it away, or take another \
             container"
                .to_owned()
        }
        _ => return None,
    };
    Some(text)
}
