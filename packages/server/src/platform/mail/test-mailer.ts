import { randomBytes } from 'node:crypto'
import { systemClock } from '../clock.ts'
import { createLog } from '../log.ts'
import { uncounted } from '../metrics.ts'
import { openMail } from './mail.ts'
import { readMailRoute } from './route.ts'

/** Sends mail in a process of its own, so that it can be killed. */
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
