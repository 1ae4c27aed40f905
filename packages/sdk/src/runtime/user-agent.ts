import { ofNode } from './of-node.ts'

/** The version in `package.json`; a test compares them. */
export const sdkVersion = '0.1.0'

const runtime = ofNode(({ versions: { bun, deno, node } }) => {
  if (bun !== undefined) return `bun/${bun}`
  return deno !== undefined ? `deno/${deno}` : node && `node/${node}`
})

/** Sent to the service, such as `keyrail-sdk/0.1.0 node/24.1.0`. In workers without the runtime. */
export const userAgent = runtime ? `keyrail-sdk/${sdkVersion} ${runtime}` : `keyrail-sdk/${sdkVersion}`
