"""The database is lost and comes back from a backup that is older than the cluster."""
import pathlib
import shutil
import subprocess
import time

from .berthd import PATIENCE, PROGRAM, Refused
from .cluster import KINDS, serves
from .waiting import eventually
from .world import World


class Backup(World):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.berthd.folder.name)
        self.archive = folder / "berth.backup"
        self.passphrase = folder / "passphrase"
        self.passphrase.write_text("correct horse battery staple\n")

    def run_berthd(self, *words):
        ended = subprocess.run([PROGRAM, *map(str, words), "--passphrase-file", str(self.passphrase),
                                "--data-dir", str(self.berthd.data)], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def objects_of(self, deployment):
        """Names and versions of everything that belongs to the deployment: whatever touches it changes one."""
        return {item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
                for item in self.cluster.list(KINDS, "-l", f"berth/deployment={deployment}")}

    def test_the_cluster_is_brought_to_the_restored_rows_and_nobodys_app_is_lost(self):
        kept, gone = self.ada.deploy("kept"), self.ada.deploy("gone")
        for deployment in (kept, gone):
            self.ada.wait(deployment, "running")
        self.run_berthd("backup", self.archive)
        self.run_berthd("verify", self.archive)
        younger = self.ada.deploy("younger")
        self.ada.wait(younger, "running")
        self.ada.delete(gone)
        eventually(lambda: not self.objects_of(gone), "nothing of it is left", 90, seen=lambda: self.objects_of(gone))

        self.assertEqual(self.berthd.terminate(), 0)
        shutil.rmtree(self.berthd.data)
        self.run_berthd("restore", self.archive)
        time.sleep(5)  # for the consequences of the deletion
        untouched = self.objects_of(younger)
        self.berthd.start()

        self.ada.wait(gone, "running")
        serves("gone", "hello from a real container")
        self.ada.wait(kept, "running")
        serves("kept", "hello from a real container")
        with self.assertRaises(Refused):
            self.ada.status(younger)
        eventually(lambda: self.orphans() == [younger], "the younger one is listed", 60, seen=self.orphans)
        serves("younger", "hello from a real container")
        self.assertEqual(self.objects_of(younger), untouched)

    def orphans(self):
        return self.berthd.as_admin("GET", "/api/internal/deploy/orphans")["deployments"]
