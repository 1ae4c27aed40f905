import { restore } from './restore.ts'

/** Restores in a process of its own, and dies by kill -9 as soon as that many rows went over. */
const [connection = '', path = '', rows = ''] = process.argv.slice(2)

await restore(JSON.parse(connection), path, {
  force: true,
  onProgress({ step, done }) {
    if (step === 'copy' && done >= Number(rows)) process.kill(process.pid, 'SIGKILL')
  },
})
