"""yang_judge.py FILE: exits 0 where yangson takes the JSON for valid data of the module optical-switch."""
import json
import os
import sys

from yangson import DataModel

here = os.environ["here"]
library = {
    "ietf-yang-library:modules-state": {
        "module-set-id": "1",
        "module": [{"name": "optical-switch", "revision": "2018-03-22",
                    "namespace": "http://www.polatis.com/yang/optical-switch", "conformance-type": "implement"}],
    }
}
model = DataModel(json.dumps(library), [here])
model.from_raw(json.load(open(sys.argv[1]))).validate()
