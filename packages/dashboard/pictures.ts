import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { readCommandLine } from '../../tools/command-line.ts'
import { clusterVariable, makeTemplate } from '../server/test/database.ts'
import { startScratchCluster } from '../server/test/scratch.ts'

/**
 * `npm run pictures`: the text of the pictures is in the font that the machine has for `system-ui`.
 */
readCommandLine(
  `\
npm run pictures   takes the pictures of README and docs, in the headless Chromium of the tests`,
  {},
)

const cluster = await startScratchCluster({ settings: { synchronous_commit: 'off' } })
try {
  await makeTemplate(cluster.connection)
  process.env[clusterVariable] = JSON.stringify(cluster.connection)
  const stream = run({ files: [join(import.meta.dirname, 'test', 'walk.ts')] })
  stream.on('test:fail', () => {
    process.exitCode = 1
  })
  for await (const chunk of stream.compose(new spec())) process.stdout.write(chunk)
} finally {
  await cluster.remove()
}
