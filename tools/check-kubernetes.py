#!/usr/bin/python3
"""Manifests of Kubernetes as `kubectl kustomize` prints them: tools/check-kubernetes.py CHECK BIN FILE

CHECK is one of
  schema     every field is one that the API has, of its type (python3-kubernetes)
  names      what is named is there: labels that selectors want, services, ports, volumes, claims
  security   no root, no capabilities, no writable root, no token; secrets for the group alone
  options    each daemon takes its options: the real program, with --check-config, the exact arguments and the
             files of the config map, in a folder in the place of each volume

Exit 1 after a line for all that is wrong; 3: the check can't be made here.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("no python3-yaml")
    sys.exit(3)

wrong = []


def complain(where, what):
    wrong.append(f"{where}: {what}")


def title(document):
    return f"{document['kind']}/{document['metadata']['name']}"


def of_kind(documents, *kinds):
    return [document for document in documents if document["kind"] in kinds]


def workloads(documents):
    return of_kind(documents, "StatefulSet", "Deployment")


def pod_of(workload):
    return workload["spec"]["template"]["spec"]


def has_labels(workload, wanted):
    labels = workload["spec"]["template"]["metadata"]["labels"]
    return all(labels.get(name) == value for name, value in wanted.items())


# ---- schema ----


class Answer:
    """What the client's deserializer reads."""

    def __init__(self, document):
        self.data = json.dumps(document)


def differences(given, known, where):
    """What of `given` the models have dropped or changed."""
    if isinstance(given, dict) and isinstance(known, dict):
        for name, value in given.items():
            if name not in known:
                yield f"{where}.{name} is no field"
            else:
                yield from differences(value, known[name], f"{where}.{name}")
    elif isinstance(given, list) and isinstance(known, list) and len(given) == len(known):
        for index, value in enumerate(given):
            yield from differences(value, known[index], f"{where}[{index}]")
    elif given != known or type(given) is not type(known):
        yield f"{where}: {given!r} is not of its type"


def check_schema(documents, _):
    try:
        from kubernetes import client
    except ImportError:
        print("no python3-kubernetes")
        sys.exit(3)
    api = client.ApiClient()
    for document in documents:
        group, _, version = document["apiVersion"].rpartition("/")
        name = version.capitalize() + document["kind"]
        if not hasattr(client, name):
            complain(title(document), f"no kind {name} of {group or 'core'}")
            continue
        try:
            known = api.sanitize_for_serialization(api.deserialize(Answer(document), name))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            complain(title(document), str(error))
            continue
        for difference in differences(document, known, title(document)):
            wrong.append(difference)


# ---- names ----


def check_selector(documents, document, selector):
    if not any(has_labels(workload, selector) for workload in workloads(documents)):
        complain(title(document), f"no pod has the labels {selector}")


def ports_of(container):
    return {port["name"]: port["containerPort"] for port in container.get("ports", [])}


def check_service(documents, service):
    check_selector(documents, service, service["spec"]["selector"])
    for workload in workloads(documents):
        if has_labels(workload, service["spec"]["selector"]):
            ports = [port for container in pod_of(workload)["containers"] for port in ports_of(container).values()]
            for port in service["spec"]["ports"]:
                if port["port"] not in ports:
                    complain(title(service), f"{title(workload)} has no port {port['port']}")


def check_volumes(documents, workload):
    pod = pod_of(workload)
    maps = [document["metadata"]["name"] for document in of_kind(documents, "ConfigMap")]
    names = [volume["name"] for volume in pod.get("volumes", [])]
    names += [claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])]
    for volume in pod.get("volumes", []):
        if "configMap" in volume and volume["configMap"]["name"] not in maps:
            complain(title(workload), f"no config map {volume['configMap']['name']}")
    for container in pod["containers"]:
        mounted = [mount["name"] for mount in container.get("volumeMounts", [])]
        for name in set(mounted) ^ set(names):
            complain(title(workload), f"volume {name} is not both there and mounted")


def check_container(workload, container):
    ports = ports_of(container)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        if probe in container and container[probe]["httpGet"]["port"] not in ports:
            complain(title(workload), f"{probe} asks a port that there is not")
    for probe in ("livenessProbe", "readinessProbe"):
        if probe not in container:
            complain(title(workload), f"no {probe}")
    variables = [variable["name"] for variable in container.get("env", [])]
    for argument in container.get("args", []):
        for variable in re.findall(r"\$\(([A-Za-z_]+)\)", argument):
            if variable not in variables:
                complain(title(workload), f"no variable {variable} for {argument}")


def check_hosts(documents):
    """Names of pods in files of options, and in arguments, are those that services give them."""
    names = {
        f"{title(workload).split('/')[1]}-{number}.{workload['spec']['serviceName']}"
        for workload in of_kind(documents, "StatefulSet")
        for number in range(workload["spec"]["replicas"])
    }
    for config in of_kind(documents, "ConfigMap"):
        for file, text in config["data"].items():
            for host in re.findall(r"tcp://([a-z0-9-]+\.[a-z-]+):", text):
                if host not in names:
                    complain(file, f"no pod is called {host}")


def check_names(documents, _):
    services = [service["metadata"]["name"] for service in of_kind(documents, "Service")]
    for service in of_kind(documents, "Service"):
        check_service(documents, service)
    for budget in of_kind(documents, "PodDisruptionBudget"):
        check_selector(documents, budget, budget["spec"]["selector"]["matchLabels"])
    for policy in of_kind(documents, "NetworkPolicy"):
        check_selector(documents, policy, policy["spec"]["podSelector"]["matchLabels"])
    for workload in workloads(documents):
        if not has_labels(workload, workload["spec"]["selector"]["matchLabels"]):
            complain(title(workload), "its selector does not want its pods")
        if workload["spec"].get("serviceName", services[0]) not in services:
            complain(title(workload), f"no service {workload['spec']['serviceName']}")
        check_volumes(documents, workload)
        for container in pod_of(workload)["containers"]:
            check_container(workload, container)
    check_hosts(documents)


# ---- security ----


def expect(where, given, path, value):
    for name in path.split("."):
        given = given.get(name) if isinstance(given, dict) else None
    if given != value:
        complain(where, f"{path} is {given!r}, not {value!r}")


def check_security(documents, _):
    for workload in workloads(documents):
        where, pod = title(workload), pod_of(workload)
        expect(where, pod, "automountServiceAccountToken", False)
        expect(where, pod, "securityContext.runAsNonRoot", True)
        expect(where, pod, "securityContext.runAsUser", 10001)
        expect(where, pod, "securityContext.fsGroup", 10001)
        expect(where, pod, "securityContext.seccompProfile.type", "RuntimeDefault")
        for volume in pod.get("volumes", []):
            if "secret" in volume:
                expect(where, volume, "secret.defaultMode", 0o440)
        for container in pod["containers"]:
            expect(where, container, "securityContext.allowPrivilegeEscalation", False)
            expect(where, container, "securityContext.readOnlyRootFilesystem", True)
            expect(where, container, "securityContext.capabilities.drop", ["ALL"])
            if "memory" not in container.get("resources", {}).get("requests", {}):
                complain(where, "no memory is requested")


# ---- options ----

VALUES = {
    "metadata.name": "orbloom-node-0",
    "metadata.namespace": "orbloom",
    "spec.nodeName": "worker-1.example",
}


def variables_of(container):
    return {
        variable["name"]: VALUES[variable["valueFrom"]["fieldRef"]["fieldPath"]]
        for variable in container.get("env", [])
    }


def move(text, mounts, folder):
    """The same, with volumes where they are here."""
    for mount in mounts:
        text = text.replace(mount["mountPath"], os.path.join(folder, mount["name"]))
    return text


def fill(documents, workload, mounts, folder):
    """A folder for each volume, with what is in it."""
    maps = {document["metadata"]["name"]: document["data"] for document in of_kind(documents, "ConfigMap")}
    for claim in workload["spec"].get("volumeClaimTemplates", []):
        os.mkdir(os.path.join(folder, claim["metadata"]["name"]))
    for volume in pod_of(workload).get("volumes", []):
        os.mkdir(os.path.join(folder, volume["name"]))
        files = maps.get(volume.get("configMap", {}).get("name"), {})
        if "secret" in volume:
            files = {"cluster.key": "1" * 64 + "\n"}
        for name, text in files.items():
            path = os.path.join(folder, volume["name"], name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(move(text, mounts, folder))
            os.chmod(path, volume.get("secret", {}).get("defaultMode", 0o444))


def check_program(documents, bin_folder, workload, container):
    mounts, variables = container["volumeMounts"], variables_of(container)
    with tempfile.TemporaryDirectory() as folder:
        fill(documents, workload, mounts, folder)
        arguments = [
            move(re.sub(r"\$\(([A-Za-z_]+)\)", lambda found: variables[found[1]], argument), mounts, folder)
            for argument in container["args"]
        ]
        command = [os.path.join(bin_folder, container["command"][0]), *arguments, "--check-config"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if run.returncode != 0:
            complain(title(workload), f"{container['command'][0]} ends with {run.returncode}: {run.stderr.strip()}")


def check_options(documents, bin_folder):
    for workload in workloads(documents):
        for container in pod_of(workload)["containers"]:
            check_program(documents, bin_folder, workload, container)


CHECKS = {"schema": check_schema, "names": check_names, "security": check_security, "options": check_options}


def main():
    check, bin_folder, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    if len(workloads(documents)) != 3:
        complain(path, "not a workload for each kind of daemon")
    CHECKS[check](documents, bin_folder)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
