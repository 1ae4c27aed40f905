import { backup } from '../src/platform/db/dump/backup.ts'
import { restore } from '../src/restore.ts'

/** Backs up or restores in a separate process, and prints by how many bytes its memory grew at most. */
const [what = '', connection = '', path = ''] = process.argv.slice(2)

const before = process.memoryUsage().rss
if (what === 'backup') await backup(JSON.parse(connection), path)
else await restore(JSON.parse(connection), path)
// maxRSS is in KiB.
console.log(process.resourceUsage().maxRSS * 1024 - before)
