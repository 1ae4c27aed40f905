import { archiveOf, folderOf, guardFileOf } from '@keyrail/contract/packages'
import type { SampleValues } from './snippets.ts'

/** One thing to do, with what to copy. */
export interface SampleStep {
  readonly text: string
  /** What the code is, for those who do not see it. */
  readonly label: string
  /** Where the code belongs: a file, or a terminal. */
  readonly name: string
  readonly code: string
}

/** From nothing to a verified key, without JavaScript. */
export interface OtherSample {
  readonly name: string
  readonly kind: 'Other languages' | 'In front of any API' | 'By HTTP'
  readonly steps: readonly SampleStep[]
}

const goModule = 'github.com/keyrail/keyrail/clients/go'

const inTerminal = (text: string, label: string, code: string): SampleStep => ({
  text,
  label,
  name: 'Terminal',
  code,
})

const environment = (lines: readonly string[]): SampleStep => ({
  text: 'Save the secret key in that folder, in a file with the name .env.',
  label: 'For the environment of your server',
  name: '.env',
  code: lines.join('\n'),
})

/** Gives the lines of `.env` to the program behind it. */
const withSettings = 'set -a && . ./.env && set +a'

const go = ({ url, projectId, secret }: SampleValues): readonly SampleStep[] => [
  inTerminal(
    'Make a folder with the client of your service, with Go 1.19 or later.',
    'To install',
    `mkdir first-api && cd first-api
curl -fs ${url}/packages/${archiveOf('go')} | tar xz
go mod init first-api
go mod edit -require ${goModule}@v0.1.0 -replace ${goModule}=./${folderOf('go')}`,
  ),
  environment([`KEYRAIL_SECRET_KEY=${secret}`]),
  {
    text: 'Save the code in that folder, in a file with the name main.go.',
    label: 'The code of your server',
    name: 'main.go',
    code: `package main

import (
	"encoding/json"
	"log"
	"net/http"

	keyrail "${goModule}"
)

func main() {
	keys, err := keyrail.Open(keyrail.Options{
		URL:     "${url}",
		Project: "${projectId}",
	})
	if err != nil {
		log.Fatal(err)
	}
	payments := func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]string{"customer": keyrail.KeyOf(r.Context()).ExternalID})
	}
	http.Handle("/payments", keys.Protect(http.HandlerFunc(payments)))
	log.Println("Listening on http://localhost:3000")
	log.Fatal(http.ListenAndServe("127.0.0.1:3000", nil))
}`,
  },
  inTerminal('Start the server in that folder.', 'To start', `${withSettings}\ngo run .`),
]

const python = ({ url, projectId, secret }: SampleValues): readonly SampleStep[] => [
  inTerminal(
    'Make a folder and install what the server needs, with Python 3.9 or later.',
    'To install',
    `mkdir first-api && cd first-api
python3 -m venv .venv && . .venv/bin/activate
pip install ${url}/packages/${archiveOf('python')} fastapi uvicorn`,
  ),
  environment([`KEYRAIL_SECRET_KEY=${secret}`]),
  {
    text: 'Save the code in that folder, in a file with the name server.py.',
    label: 'The code of your server',
    name: 'server.py',
    code: `from fastapi import Depends, FastAPI
from keyrail import Keyring, Verdict
from keyrail.fastapi import RequireKey, install

app = FastAPI()
install(app)
require_key = RequireKey(Keyring(
    url="${url}",
    project="${projectId}",
))


@app.get("/payments")
def payments(key: Verdict = Depends(require_key)):
    return {"customer": key.external_id}`,
  },
  inTerminal(
    'Start the server in that folder.',
    'To start',
    `${withSettings}\npython3 -m uvicorn server:app --port 3000`,
  ),
]

const startGuard = ({ url }: SampleValues): SampleStep =>
  inTerminal(
    'Start the guard in that folder, with Node 20.16 or later. It follows the service and answers the proxy from its memory.',
    'To start the guard',
    `${withSettings}\nnpx --yes ${url}/packages/${archiveOf('guard')}`,
  )

const ofGuard = ({ url, projectId, secret }: SampleValues): SampleStep =>
  environment([`KEYRAIL_URL=${url}`, `KEYRAIL_PROJECT=${projectId}`, `KEYRAIL_SECRET_KEY=${secret}`])

const nginx = (values: SampleValues): readonly SampleStep[] => [
  inTerminal(
    'Make a folder with a file for nginx. It demands a valid key, of any scopes.',
    'To fetch the file',
    `mkdir first-guard && cd first-guard
curl -fs ${values.url}/packages/${guardFileOf('nginx.conf')} | sed 's/scope=orders:read;/cost=1;/' > keyrail.conf`,
  ),
  ofGuard(values),
  startGuard(values),
  inTerminal(
    'Give the file to nginx in another terminal. nginx then takes requests on port 80 and sends those with a valid key to your API on port 3000, with the headers X-Keyrail-Tenant, -External-Id, -Key and -Scopes.',
    'To start nginx',
    `sudo cp keyrail.conf /etc/nginx/conf.d/
sudo nginx -t && sudo nginx -s reload`,
  ),
]

const envoy = (values: SampleValues): readonly SampleStep[] => [
  inTerminal(
    'Make a folder with a file for Envoy.',
    'To fetch the file',
    `mkdir first-guard && cd first-guard
curl -fs ${values.url}/packages/${guardFileOf('envoy.yaml')} > envoy.yaml`,
  ),
  ofGuard(values),
  startGuard(values),
  inTerminal(
    'Start Envoy in that folder, in another terminal. It then takes requests on port 8080 and sends those with a valid key to your API on port 3000, with the headers x-keyrail-tenant, -external-id, -key and -scopes.',
    'To start Envoy',
    'envoy -c envoy.yaml',
  ),
]

const byHttp = ({ url, projectId, secret }: SampleValues): readonly SampleStep[] => [
  inTerminal(
    'Ask the service about a key, in a terminal or from any language. A server sends such a call for each request of a customer.',
    'The call of a server',
    `curl ${url}/v1/keys/verify \\
  -H 'Authorization: Bearer ${secret}' \\
  -H 'Content-Type: application/json' \\
  -d '{ "project_id": "${projectId}", "key": "the-key-of-your-customer" }'`,
  ),
]

/** What stands beside the servers in JavaScript. */
export const otherSamples = (values: SampleValues): readonly OtherSample[] => [
  { name: 'Go', kind: 'Other languages', steps: go(values) },
  { name: 'Python', kind: 'Other languages', steps: python(values) },
  { name: 'nginx', kind: 'In front of any API', steps: nginx(values) },
  { name: 'Envoy', kind: 'In front of any API', steps: envoy(values) },
  { name: 'curl', kind: 'By HTTP', steps: byHttp(values) },
]
