import { randomBytes } from 'node:crypto'
import { systemClock } from '../src/platform/clock.ts'
import { openMail } from '../src/platform/mail/mail.ts'
import { readMailRoute } from '../src/platform/mail/route.ts'
import { createLog } from '../src/platform/observe/log.ts'
import { uncounted } from '../src/platform/observe/metrics.ts'

/** Sends mail in a separate process, so that a test can kill it. */
const [connection = '', url = '', to = ''] = process.argv.slice(2)

openMail({
  route: readMailRoute(url),
  from: { name: 'Keyrail', address: 'no-reply@keys.example.com' },
  connection: JSON.parse(connection),
  letters: { reset: async () => ({ to, subject: 'Once or twice', paragraphs: ['Hello.'] }) },
  clock: systemClock,
  randomBytes,
  log: createLog('silent'),
  metrics: uncounted,
}).start()
