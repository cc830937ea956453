"""A cluster of one node that speaks CURVE, beside the playground, whose files it takes as patterns."""

import os
import re
import subprocess
import time


class CurveCluster:
    """Processes of its own on free ports; `orbloom` and the daemons are those of $ORBLOOM_BIN."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = os.environ["ORBLOOM_BIN"]
        self.playground = os.environ["ORBLOOM_DIR"]
        self.processes = []
        self.key = os.path.join(folder, "key")
        subprocess.run(["cp", os.path.join(self.playground, "key"), self.key], check=True)
        os.chmod(self.key, 0o600)
        self.coordinator = None
        try:
            self.coordinator = self.start("coordinator", "orbloom-coordinator")
            self.start("node-1", "orbloom-node")
            self.router = self.start("router", "orbloom-router")
        except BaseException:
            self.stop()
            raise

    def start(self, name, program):
        """Returns its endpoint, once it is ready."""
        folder = os.path.join(self.folder, name)
        os.makedirs(os.path.join(folder, "data"))
        with open(os.path.join(self.playground, name, "conf"), encoding="utf-8") as file:
            text = file.read().replace(f'"{self.playground}/', f'"{self.folder}/')
        text = re.sub(r"^listen = .*", 'listen = "tcp://127.0.0.1:*";', text, flags=re.MULTILINE)
        text = re.sub(r"^coordinators = .*", f'coordinators = ["{self.coordinator}"];', text, flags=re.MULTILINE)
        conf, ready, log = (os.path.join(folder, file) for file in ("conf", "ready", "log"))
        with open(conf, "w", encoding="utf-8") as file:
            file.write(text + 'transport = "curve";\n')
        with open(ready, "wb") as out, open(log, "wb") as err:
            words = [os.path.join(self.bin, program), "--config", conf]
            self.processes.append(subprocess.Popen(words, stdout=out, stderr=err))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with open(ready, encoding="utf-8") as file:
                told = re.search(r"^ready (.*)$", file.read(), flags=re.MULTILINE)
            if told:
                return told.group(1)
            time.sleep(0.02)
        raise RuntimeError(f"{program} is not ready; see {log}")

    def add_user(self, name, *flags):
        """Returns the file of the user's credential."""
        credential = os.path.join(self.folder, name + ".cred")
        words = [os.path.join(self.bin, "orbloom"), "user", "create", name, "--credential", credential]
        words += ["--cluster-key", self.key, "--coordinator", self.coordinator, "--timeout", "60s", *flags]
        subprocess.run(words, check=True, capture_output=True)
        return credential

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
