"""`sotto account check`: a certificate from a run is derived again; what was changed is named."""

import json
import os
import subprocess

from sotto_program import SottoTest, sotto

MAKER = os.environ["SOTTO_MAKE_CERTIFICATE"]


class Certificate(SottoTest):
    def setUp(self):
        super().setUp()
        self.key = self.folder / "key.pem"
        self.public = self.folder / "public.pem"
        self.file = self.folder / "certificate.json"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.key], check=True)
        subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-out", self.public],
                       check=True)
        subprocess.run([MAKER, self.key, self.file], check=True)

    def test_holds(self):
        text = self.ok("account", "check", self.file, "--key", self.public)
        for part in ["signature", "thresholds", "guarantee", "claims", "the certificate holds."]:
            self.assertIn(part, text)
        without = self.ok("account", "check", self.file)
        self.assertIn("who signed it was not compared", without)

    def test_json(self):
        result = self.json("account", "check", self.file, "--key", self.public)
        self.assertTrue(result["holds"])
        self.assertTrue(result["signer_known"])
        self.assertEqual([each["what"] for each in result["findings"]],
                         ["signature", "signer", "fields", "mechanism", "thresholds", "guarantee",
                          "claims"])
        written = json.loads(self.file.read_text())
        self.assertEqual([claim["epsilon"] for claim in result["claims"]],
                         [claim["epsilon"] for claim in written["claims"]])

    def test_a_changed_number_is_named(self):
        certificate = json.loads(self.file.read_text())
        threshold = certificate["mechanisms"][0]["constants"][0]["value"]
        other = threshold[:-1] + ("0" if threshold[-1] != "0" else "1")
        self.file.write_text(self.file.read_text().replace(threshold, other))
        self.fails(1, ["does not hold", "signature: ", f'expected "{threshold}"',
                       f'found "{other}"'], "account", "check", self.file)
        done = sotto("account", "check", self.file, "--json")
        self.assertEqual(done.returncode, 1)
        result = json.loads(done.stdout)
        self.assertFalse(result["holds"])
        self.assertEqual([each["what"] for each in result["findings"] if not each["holds"]],
                         ["signature", "thresholds"])

    def test_another_signer(self):
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.key], check=True)
        subprocess.run([MAKER, self.key, self.file], check=True)
        self.ok("account", "check", self.file)
        self.fails(1, ["signer: expected "], "account", "check", self.file, "--key", self.public)

    def test_a_strangers_words_hide_nothing(self):
        """"Conceal" in a field that is printed would hide that it describes a plan."""
        certificate = json.loads(self.file.read_text())
        del certificate["signature"]
        certificate["ledger"] = {"accounts": 1, "entries": 1, "hash": "\x1b[8m" + 60 * "0"}
        certificate["recipe"] = "\nreal coins\x9b8m"
        body = self.folder / "body"
        body.write_text(json.dumps(certificate, sort_keys=True, separators=(",", ":"),
                                   ensure_ascii=False))
        signature = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.key,
                                    "-in", body], check=True, capture_output=True).stdout
        certificate["signature"] = signature.hex()
        self.file.write_text(json.dumps(certificate, sort_keys=True, indent=2, ensure_ascii=False)
                             + "\n")
        said = self.ok("account", "check", self.file)
        self.assertIn(r"ends with \x1b[8m000000000000, recipe \x0areal coins\x9b8m", said)
        self.assertIn("It describes a plan, protects nobody.", said)
        self.assertFalse([c for c in said if ord(c) < 32 and c != "\n" or 126 < ord(c) < 160], said)

    def test_whose_coins_they_were(self):
        plan = self.ok("account", "check", self.file)
        self.assertIn("It describes a plan, protects nobody.", plan)
        self.assertIn("A client whose coins were its own would be promised epsilon", plan)
        result = self.json("account", "check", self.file)
        self.assertEqual((result["holds"], result["coins"], result["protects"]),
                         (True, "public seed (simulation)", False))
        self.fails(1, ["--real", "public seed (simulation)", "protects nobody"],
                   "account", "check", self.file, "--real")
        subprocess.run([MAKER, self.key, self.file, "real"], check=True)
        real = self.ok("account", "check", self.file, "--real")
        self.assertIn("clients' own system randomness", real)
        self.assertIn("A client is promised epsilon", real)
        self.assertTrue(self.json("account", "check", self.file, "--real")["protects"])

    def test_what_is_no_certificate(self):
        self.fails(1, ["certificate.json: not a certificate", "no valid JSON"],
                   "account", "check", self.cut(100))
        self.fails(1, ["none.json"], "account", "check", self.folder / "none.json")
        self.fails(1, ["not an Ed25519 public key", "openssl pkey"],
                   "account", "check", self.file, "--key", self.key)
        self.assertEqual(sotto("account", "check").returncode, 2)

    def cut(self, size):
        self.file.write_text(self.file.read_text()[:size])
        return self.file
