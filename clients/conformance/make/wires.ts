import type { Socket } from 'node:net'
import type { Mode } from '../../../packages/sdk/test/hostile/mode.ts'
import { wireModes } from '../../../packages/sdk/test/hostile/wire-modes.ts'
import type { Answer, Case } from '../case.ts'
import { answerOf, type Beyond, casesOf } from './modes.ts'

/** Failures below JSON. Another HTTP library may take a broken answer for a cut body, and read what there is of it. */

const broken = { codes: ['bad_response'] } as const
const large = { repeat: { text: ' '.repeat(1024), times: 100 * 1024 } }
const spaces = ' '.repeat(1024)

/** What these send without end, after what they begin with. */
const endless: Readonly<Record<string, Pick<Answer, 'end' | 'drip'>>> = {
  'a head that comes byte by byte': { end: 'drip', drip: 'a' },
  'a body that comes byte by byte': { end: 'drip', drip: ' ' },
  'answers before the answer, for ever': { end: 'drip', drip: 'HTTP/1.1 103 Early Hints\r\n\r\n' },
  'a head that never ends': { end: 'flood', drip: `X-More: ${'x'.repeat(400)}\r\n` },
  'a body that never ends': { end: 'flood', drip: spaces },
  'chunks that never end': { end: 'flood', drip: `400\r\n${spaces}\r\n` },
}

/** Each costs a time-out or a hundred megabytes, so it is played once. */
const once: Readonly<Record<string, Mode['only']>> = {
  'a head that comes byte by byte': 'start',
  'a body that comes byte by byte': 'serving',
  'no answer': 'start',
  'a head and no body': 'serving',
  'answers before the answer, for ever': 'serving',
  'a body that never ends': 'start',
  'chunks that never end': 'serving',
  'a bomb of gzip': 'serving',
}

function answered(mode: Mode, isServing: boolean): Answer {
  if (mode.name === 'a bomb of gzip') return { ...large, gzip: true }
  const given = mode.answer({ url: new URL('http://127.0.0.1/v1/policy/delta?since=7'), headers: {} }, none)
  return given?.raw === undefined
    ? answerOf(mode, isServing)
    : { ...wireOf(given.raw), ...endless[mode.name] }
}
const none = { keys: new Map(), clock: () => 0 } as unknown as Parameters<Mode['answer']>[1]

/** What a mode writes to a socket before anything that never ends. */
function wireOf(raw: (socket: Socket) => void): Answer {
  const written: Buffer[] = []
  let end: Answer['end'] = 'hang'
  const write = (piece: string | Buffer = '') => written.push(Buffer.from(piece))
  const socket = {
    writable: false,
    write,
    end(piece?: Buffer) {
      write(piece)
      end = 'close'
    },
    resetAndDestroy() {
      end = 'reset'
    },
    on() {},
    once: (_: string, close: () => void) => close(),
  }
  raw(socket as unknown as Socket)
  return { wire: Buffer.concat(written).toString('base64'), end }
}

const beyond: Readonly<Record<string, Beyond>> = {
  ...Object.fromEntries(
    wireModes
      .filter(({ code }) => code === 'network_error')
      .map(({ name }): [string, Beyond] => [name, broken]),
  ),
  ...Object.fromEntries(
    wireModes
      .filter(({ code }) => code === 'timeout')
      .map(({ name }): [string, Beyond] => [name, { open: { timeout: 500 } }]),
  ),
  // A library may give up after a few of them.
  'answers before the answer, for ever': { codes: ['network_error'], open: { timeout: 500 } },
  'a switch to another protocol': { codes: ['bad_response', 'http_101'] },
  'a head that never ends': { codes: ['response_too_large'] },
}

export const wires: readonly Case[] = casesOf(
  wireModes
    // A node that asks for no Brotli has nothing to unpack.
    .filter(({ name }) => name !== 'a bomb of Brotli')
    .map(mode => (once[mode.name] === undefined ? mode : { ...mode, only: once[mode.name] as 'start' })),
  'wire modes',
  beyond,
  answered,
)
