import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentFamily, agentInWords, keptAgent, userAgentMax } from './user-agent.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36'

test('a kept user agent is short, on one line, and has no control character or credential', () => {
  assert.equal(keptAgent(undefined), null)
  assert.equal(keptAgent(firefox), firefox)
  assert.equal(keptAgent('word '.repeat(1_000))?.length, userAgentMax)
  assert.equal(keptAgent('a\u001b[31mb\u009b31mc\nd\u00ade'), 'a [31mb 31mc d e')
  const secret = `krsk_live_${'a1B2c3D4'.repeat(5)}`
  assert.equal(keptAgent(`agent/${secret} x`), 'agent/… x')
})

test('an update does not make it another program', () => {
  assert.equal(agentFamily(firefox), agentFamily(firefox.replaceAll('140.0', '141.0.2')))
  assert.notEqual(agentFamily(firefox), agentFamily(chrome))
})

test('a letter describes the program without any words of a stranger', () => {
  const said: Record<string, string> = {
    [firefox]: 'Firefox on Linux',
    [chrome]: 'Chrome on Windows',
    [`${chrome} Edg/141.0`]: 'Edge on Windows',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15':
      'Safari on macOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0 Mobile Safari/604.1':
      'Chrome on iOS',
    'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Mobile Safari/537.36':
      'Chrome on Android',
    'curl/8.14.1': 'a program that calls itself curl',
    'Mozilla/5.0 (Windows)': 'an unknown program on Windows',
    'Your account is blocked, go to https://evil.example/': 'an unknown program',
    'evil.example/click': 'an unknown program',
    '<b>x</b>/1': 'an unknown program',
    '': 'an unknown program',
  }
  for (const [agent, words] of Object.entries(said)) assert.equal(agentInWords(agent), words)
  assert.equal(agentInWords(null), 'an unknown program')
})
