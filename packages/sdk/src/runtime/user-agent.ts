import { ofNode } from './of-node.ts'

/** That of `package.json`, which a test compares. */
export const sdkVersion = '0.1.0'

const runtime = ofNode(({ versions: { bun, deno, node } }) => {
  if (bun !== undefined) return `bun/${bun}`
  return deno !== undefined ? `deno/${deno}` : node && `node/${node}`
})

/** What the service is told of its caller: `keyrail-sdk/0.1.0 node/24.1.0`; of a worker without the runtime. */
export const userAgent = runtime ? `keyrail-sdk/${sdkVersion} ${runtime}` : `keyrail-sdk/${sdkVersion}`
