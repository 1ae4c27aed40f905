import { backup } from './backup.ts'
import { restore } from './restore.ts'

/** Backs up or restores in a process of its own, and prints by how many bytes its memory grew at the most. */
const [what = '', connection = '', path = ''] = process.argv.slice(2)

const before = process.memoryUsage().rss
if (what === 'backup') await backup(JSON.parse(connection), path)
else await restore(JSON.parse(connection), path)
// maxRSS is in KiB.
console.log(process.resourceUsage().maxRSS * 1024 - before)
