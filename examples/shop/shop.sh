#!/usr/bin/env bash
# The same with curl, for trying things out, and to see the requests themselves. It needs curl, jq and openssl.
#   shop.sh login                        prints an address to open, reads the one that the browser ends on, prints the token
#   shop.sh balance TOKEN
#   shop.sh spend TOKEN AMOUNT DESCRIPTION ORDER
#   shop.sh webhook ID TIMESTAMP SIGNATURE < BODY     ends with 0 if the request is from berth
# BERTH_URL, BERTH_CLIENT_ID, BERTH_CLIENT_SECRET and, for webhook, BERTH_WEBHOOK_SECRET are in the environment.
set -euo pipefail

# [login]
callback=http://127.0.0.1/callback # one of the app's redirect URIs

base64url() { basenc --base64url --wrap=0 | tr -d =; }

login() {
  local verifier challenge state ended code
  verifier=$(openssl rand -hex 32) state=$(openssl rand -hex 16)
  challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | base64url)
  echo "Open this, and enter the address that your browser ends on:" >&2
  echo "$BERTH_URL/api/oauth/authorize?response_type=code&client_id=$BERTH_CLIENT_ID&redirect_uri=$callback&scope=profile:read+points:read+points:spend&state=$state&code_challenge=$challenge&code_challenge_method=S256" >&2
  read -r ended
  [[ $ended == *"state=$state"* ]] || { echo "this login wasn't begun here" >&2; exit 1; }
  code=$(sed -E 's/.*[?&]code=([^&]*).*/\1/' <<<"$ended")
  curl -sS --fail-with-body "$BERTH_URL/api/oauth/token" -u "$BERTH_CLIENT_ID:$BERTH_CLIENT_SECRET" \
    -d grant_type=authorization_code -d code="$code" --data-urlencode redirect_uri=$callback \
    -d code_verifier="$verifier" | jq -r .access_token
}
# [/login]

# [balance]
balance() { # TOKEN
  curl -sS --fail-with-body "$BERTH_URL/api/external/points/balance" -H "Authorization: Bearer $1" | jq .points
}
# [/balance]

# [spend]
# Takes points from the player, once for each order, and prints how many the player has left. curl asks again where no
# answer came; with the same key that is safe.
spend() { # TOKEN AMOUNT DESCRIPTION ORDER
  local body
  body=$(jq -n --argjson amount "$2" --arg description "$3" '{$amount, $description}')
  curl -sS --fail-with-body --retry 3 --retry-connrefused "$BERTH_URL/api/external/points/spend" \
    -H "Authorization: Bearer $1" -H "Idempotency-Key: $4" -H 'Content-Type: application/json' -d "$body" | jq .points
}
# [/spend]

# [webhook]
tolerance=300 # seconds

webhook() { # ID TIMESTAMP SIGNATURE, as the headers webhook-id, -timestamp and -signature have them; the body on stdin
  local key wanted age=$(($(date +%s) - $2))
  [ "${age#-}" -le $tolerance ] || return 1
  key=$(base64 -d <<<"${BERTH_WEBHOOK_SECRET#whsec_}" | od -An -tx1 | tr -d ' \n')
  wanted=$({ printf %s "$1.$2."; cat; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  [[ " $3 " == *" v1,$wanted "* ]]
}
# [/webhook]

"$@"
