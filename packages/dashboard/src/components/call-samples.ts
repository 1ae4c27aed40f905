interface Sample {
  readonly name: string
  readonly code: string
}

/** A request of a customer to the API of the vendor, in the languages of customers. */
export const callSamples = (url: string, key: string): [Sample, ...Sample[]] => [
  { name: 'curl', code: `curl ${url} \\\n  -H 'Authorization: Bearer ${key}'` },
  {
    name: 'JavaScript',
    code: `const answer = await fetch('${url}', {
  headers: { Authorization: 'Bearer ${key}' },
})
console.log(answer.status, await answer.text())`,
  },
  {
    name: 'Python',
    code: `import urllib.request

headers = {"Authorization": "Bearer ${key}"}
request = urllib.request.Request("${url}", headers=headers)
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
)

func main() {
	request, err := http.NewRequest("GET", "${url}", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer ${key}")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	io.Copy(os.Stdout, answer.Body)
}`,
  },
]
