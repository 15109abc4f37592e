// Files for CI systems, which are the same in all languages.
interface Of {
  url: string; // berthd's own
  client_id: string;
  deployment: string;
}

const exchange = ({ url, client_id }: Of) => `curl -fsS ${url}/api/oauth/token \\
          -d grant_type=urn:ietf:params:oauth:grant-type:token-exchange \\
          -d subject_token_type=urn:ietf:params:oauth:token-type:id_token \\
          -d client_id=${client_id} --data-urlencode "subject_token=$ID_TOKEN" | jq -r .access_token`;

export const snippets = {
  github: (of: Of) => `on: {push: {branches: [main]}}
permissions: {contents: read, id-token: write}
jobs:
  deploy:
    runs-on: ubuntu-latest
    env: {BERTH_URL: "${of.url}"}
    steps:
    - name: Get a token
      run: |
        ID_TOKEN=$(curl -fsS -H "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
          "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${of.url}" | jq -r .value)
        TOKEN=$(${exchange(of)})
        echo "::add-mask::$TOKEN"
        echo "BERTH_TOKEN=$TOKEN" >> "$GITHUB_ENV"
    - run: curl -fsS "$BERTH_URL/install.sh" | sh
    - run: ~/.local/bin/berth deploy update ${of.deployment} --image ghcr.io/\${{ github.repository }}:\${{ github.sha }} --wait
`,
  gitlab: (of: Of) => `deploy:
  image: debian:12
  id_tokens: {ID_TOKEN: {aud: "${of.url}"}}
  variables: {BERTH_URL: "${of.url}"}
  rules: [{if: $CI_COMMIT_BRANCH == "main"}]
  script:
    - apt-get update -qq && apt-get install -y -qq curl ca-certificates jq
    - |
        export BERTH_TOKEN=$(${exchange(of)})
    - curl -fsS "$BERTH_URL/install.sh" | sh
    - ~/.local/bin/berth deploy update ${of.deployment} --image "$CI_REGISTRY_IMAGE:$CI_COMMIT_SHORT_SHA" --wait
`,
};
