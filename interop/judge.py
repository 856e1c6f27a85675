"""What does the library `joserfc` say about tokens?

`judge.py FILE` prints a line for each token of the file: `accepted`, or why the token is refused. The first line of the file
says by which rules; `interop/src/bin/verdicts` writes it.
"""

import json
import sys
import warnings

from joserfc import jwt
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from joserfc.util import json_b64decode

# The older name of an algorithm is not recommended any more.
warnings.simplefilter("ignore")


def make_registry(algorithms):
    # Headers may have members that the standard does not know, and may be as long as a token.
    registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
    registry.max_header_length = 1 << 16
    return registry


def candidates(token, keys):
    """Returns the keys to try. The library wants a name in the header; without one, each fitting key is tried."""
    try:
        header = json_b64decode(token.split(".")[0].encode())
        if "kid" in header:
            return [keys]
        algorithm = header["alg"]
    except Exception:
        return [keys]
    return [
        key
        for key in keys
        if key.get("use") in (None, "sig") and key.get("alg") in (None, algorithm)
    ]


def verify(token, keys, registry, rules):
    error = ValueError("no key fits")
    for key in candidates(token, keys):
        try:
            rules.validate(jwt.decode(token, key, registry=registry).claims)
            return "accepted"
        except Exception as failed:
            error = failed
    return " ".join(f"{type(error).__name__}: {error}".split())


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        settings, *tokens = [json.loads(line) for line in file]
    keys = KeySet.import_key_set(settings["keys"])
    registry = make_registry(settings["algorithms"])
    rules = jwt.JWTClaimsRegistry(
        now=settings["now"],
        leeway=settings["leeway"],
        iss={"essential": True, "value": settings["issuer"]},
        aud={"essential": True, "value": settings["audience"]},
        exp={"essential": True},
    )
    for entry in tokens:
        print(verify(entry["token"], keys, registry, rules))


main()
