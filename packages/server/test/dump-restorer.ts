import { restore } from '../src/restore.ts'

/** Restores in a separate process, which kills itself with kill -9 once this many rows were copied. */
const [connection = '', path = '', rows = ''] = process.argv.slice(2)

await restore(JSON.parse(connection), path, {
  force: true,
  onProgress({ step, done }) {
    if (step === 'copy' && done >= Number(rows)) process.kill(process.pid, 'SIGKILL')
  },
})
