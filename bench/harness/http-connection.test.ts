import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeRequest, readAnswer } from './http-connection.ts'

const bytes = (text: string) => Buffer.from(text)

test('a request carries its host and the length of its body in bytes', () => {
  const request = { method: 'POST', path: '/echo?x=1', headers: { accept: '*/*' }, body: '"ü"' } as const
  assert.equal(
    encodeRequest(request, 'localhost:1').toString(),
    'POST /echo?x=1 HTTP/1.1\r\nhost: localhost:1\r\naccept: */*\r\ncontent-length: 4\r\n\r\n"ü"',
  )
  assert.equal(encodeRequest({}, 'a').toString(), 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
})

test('an answer is read once it is complete, wherever the packets split it', () => {
  const body = '{"name":"żółw"}'
  const whole = bytes(
    `HTTP/1.1 201 Created\r\nContent-Length: ${Buffer.byteLength(body)}\r\nx: y\r\n\r\n${body}`,
  )
  fc.assert(
    fc.property(fc.nat(whole.length - 1), cut => {
      assert.equal(readAnswer(whole.subarray(0, cut)), undefined)
      const answer = readAnswer(whole)
      assert.ok(answer && !(answer instanceof Error))
      assert.deepEqual([answer.status, answer.body()], [201, body])
    }),
  )
})

test('204 and 304 have no body and no length', () => {
  for (const status of [204, 304]) {
    const answer = readAnswer(bytes(`HTTP/1.1 ${status} -\r\netag: "1"\r\n\r\n`))
    assert.ok(answer && !(answer instanceof Error))
    assert.deepEqual([answer.status, answer.body()], [status, ''])
  }
})

test('an answer without a known length is an error, not a guess', () => {
  assert.ok(readAnswer(bytes('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')) instanceof Error)
  assert.ok(readAnswer(bytes('SSH-2.0-OpenSSH\r\n\r\n')) instanceof Error)
})
