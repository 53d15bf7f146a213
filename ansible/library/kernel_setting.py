#!/usr/bin/python
"""Ansible module: a setting of the kernel in a file of /sys, remembered so that it can go back."""

from __future__ import annotations

import glob
import json
import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kernel_setting
short_description: Write settings below /sys and remember what they were
description:
  - Writes a value to every file that a pattern matches, and notes the first value found in each.
  - A file that is not there is a setting that this kernel or machine does not have; no error.
options:
  paths:
    description: Patterns of files.
    type: list
    elements: str
    default: []
  value:
    description: What they are to hold; of a file that marks one of several, which one.
    type: str
  record:
    description: JSON file on the host that holds what was found.
    type: path
    required: true
  state:
    description: Whether to set the value, or to restore everything that the record holds.
    choices: [set, restored]
    default: set
    type: str
"""

EXAMPLES = r"""
- name: Keep the processor at its highest frequency
  kernel_setting:
    paths: [/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor]
    value: performance
    record: /var/lib/recompact/kernel.json
"""

RETURN = r"""
found:
  description: What each file held before.
  type: dict
  returned: always
"""


def read(path: str) -> str:
    """Read a setting; of "always [madvise] never" the marked word."""
    text = Path(path).read_text(encoding="utf-8").strip()
    marked = re.search(r"\[([^\]]+)\]", text)
    return marked.group(1) if marked else text


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "paths": {"type": "list", "elements": "str", "default": []},
            "value": {"type": "str"},
            "record": {"type": "path", "required": True},
            "state": {"choices": ["set", "restored"], "default": "set"},
        },
        required_if=[("state", "set", ("paths", "value"))],
        supports_check_mode=True,
    )
    record = Path(module.params["record"])
    noted = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if module.params["state"] == "restored":
        wanted = dict(noted)
    else:
        files = sorted(path for one in module.params["paths"] for path in glob.glob(one))  # noqa: PTH207  # absolute patterns
        wanted = dict.fromkeys(files, module.params["value"])
    found = {path: read(path) for path in wanted if Path(path).exists()}
    changed = [path for path, value in found.items() if value != wanted[path]]
    if changed and not module.check_mode:
        if module.params["state"] == "set":
            record.parent.mkdir(parents=True, exist_ok=True)
            kept = {path: found[path] for path in changed} | noted
            record.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        for path in changed:
            try:
                Path(path).write_text(wanted[path], encoding="utf-8")
            except OSError as error:
                module.fail_json(msg=f"{path}: cannot be set to {wanted[path]}: {error}")
    module.exit_json(changed=bool(changed), found=found)


if __name__ == "__main__":
    main()
