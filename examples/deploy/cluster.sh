# A cluster to play with: an MCP server on stdin and stdout. $CLUSTER is its folder, $DATABASE the database that it has.
mkdir -p "$CLUSTER"
while read -r line; do
  get() { printf '%s' "$line" | jq -r "$1 // empty"; }
  service=$(get .params.arguments.service)
  if [ "$(get .params.name)" = deploy ]; then
    get .params.arguments.version >"$CLUSTER/$service"
  fi
  printf '%s' "$line" | jq -c --arg running "$(cat "$CLUSTER/$service" 2>/dev/null)" -f cluster.jq
done
