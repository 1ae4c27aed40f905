interface Sample {
  readonly name: string
  readonly code: string
}

/** Complete samples to paste that create a resource, from a terminal and from a server. */
export function createSamples(
  url: string,
  noun: 'projects' | 'tenants' | 'keys',
  fields: Readonly<Record<string, string>>,
): [Sample, Sample] {
  return [
    {
      name: 'curl',
      code: `curl ${url}/v1/${noun} \\
  -H "Authorization: Bearer $KEYRAIL_SECRET_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(fields, null, 2)}'`,
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
  ]
}

/** The SDK has names in camelCase. */
const inCamelCase = (name: string) =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
