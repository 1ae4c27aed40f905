import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameInLetter, workspaceInWords } from './subject.ts'

test('a name that holds the address of a page is left out of subject and text', () => {
  for (const name of [
    'Get paid: https://evil.example/x',
    'HTTP://EVIL',
    'evil.example',
    'Your prize is at www.evil.example now',
    'bit.ly/abc',
    'mail me@evil.example',
    'evil。example',
    'evil．example',
    'ev\u200bil.\u2060example',
    'xn--80ak6aa92e.xn--p1ai',
    'пример.рф',
    '203.0.113.7',
  ]) {
    assert.equal(nameInLetter(name, 'a workspace'), 'a workspace', name)
    assert.equal(workspaceInWords(name), 'your workspace', name)
  }
})

test('any other name stands in a subject as it is', () => {
  for (const name of [
    'Acme',
    'Acme Inc.',
    'Dr. No & Sons',
    'Version 2.0',
    'A.B. Smith',
    'Größe 5.5',
    'e.V. München',
  ])
    assert.equal(nameInLetter(name, 'a workspace'), name)
})
