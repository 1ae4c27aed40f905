interface Sample {
  readonly name: string
  readonly code: string
}

/** Complete samples to paste that create a resource, from a terminal and from a server. */
export function createSamples(
  url: string,
  noun: 'projects' | 'tenants' | 'keys',
  fields: Readonly<Record<string, string>>,
): [Sample, ...Sample[]] {
  const body = JSON.stringify(fields, null, 2)
  return [
    {
      name: 'curl',
      code: `curl ${url}/v1/${noun} \\
  -H "Authorization: Bearer $KEYRAIL_SECRET_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${body}'`,
    },
    {
      name: 'TypeScript',
      code: `import { createAdmin } from '@keyrail/sdk/admin'

const admin = createAdmin({
  url: '${url}',
  secretKey: process.env.KEYRAIL_SECRET_KEY,
})
await admin.${noun}.create({
${Object.entries(fields)
  .map(([name, value]) => `  ${inCamelCase(name)}: '${value}',\n`)
  .join('')}})`,
    },
    {
      name: 'Python',
      code: `import json, os, urllib.request

body = json.dumps(${body.replaceAll('\n  ', '\n    ')})
request = urllib.request.Request("${url}/v1/${noun}", body.encode(), {
    "Authorization": "Bearer " + os.environ["KEYRAIL_SECRET_KEY"],
    "Content-Type": "application/json",
})
print(urllib.request.urlopen(request).read().decode())`,
    },
    {
      name: 'Go',
      code: `package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(\`${body.replaceAll('\n', '\n\t')}\`)
	request, err := http.NewRequest("POST", "${url}/v1/${noun}", body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEYRAIL_SECRET_KEY"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	io.Copy(os.Stdout, answer.Body)
}`,
    },
  ]
}

/** The SDK has names in camelCase. */
const inCamelCase = (name: string) =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
