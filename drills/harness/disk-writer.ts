import { holdAt, openCache } from './disk-node.ts'

/** A process that writes its snapshot again and again, each at another version, until it is killed. */
const [cacheDir = ''] = process.argv.slice(2)
const at = { wall: Date.now(), monotonic: 0, uptime: 1_000_000 }
const { cache } = openCache(cacheDir, at)
await cache.load()
for (let version = 1; ; version += 1) {
  await cache.close(holdAt(version, at.monotonic))
  if (version === 1) process.stdout.write('writing\n')
}
