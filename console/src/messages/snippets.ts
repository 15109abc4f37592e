// Files for CI systems, which are the same in all languages.
interface Of {
  url: string; // berthd's own
  client_id: string;
  deployment: string;
}

export const snippets = {
  github: ({ url, client_id, deployment }: Of) => `on: {push: {branches: [main]}}
permissions: {contents: read, id-token: write}
jobs:
  deploy:
    runs-on: ubuntu-latest
    env: {BERTH_URL: "${url}", BERTH_APP: ${client_id}}
    steps:
    - run: curl -fsS "$BERTH_URL/install.sh" | sh
    - run: ~/.local/bin/berth deploy update ${deployment} --image ghcr.io/\${{ github.repository }}:\${{ github.sha }} --wait
`,
  gitlab: ({ url, client_id, deployment }: Of) => `deploy:
  image: debian:12
  id_tokens: {BERTH_ID_TOKEN: {aud: "${url}"}}
  variables: {BERTH_URL: "${url}", BERTH_APP: ${client_id}}
  rules: [{if: $CI_COMMIT_BRANCH == "main"}]
  script:
    - apt-get update -qq && apt-get install -y -qq curl ca-certificates
    - curl -fsS "$BERTH_URL/install.sh" | sh
    - ~/.local/bin/berth deploy update ${deployment} --image "$CI_REGISTRY_IMAGE:$CI_COMMIT_SHORT_SHA" --wait
`,
};
