import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Letter, renderHtml, renderText } from './letter.ts'

const url = `https://keys.example.com/reset-password#token=${'a'.repeat(36)}.${'b'.repeat(43)}`
const letter: Letter = {
  to: 'ann@example.com',
  subject: 'Reset your password',
  greeting: 'Hello Ann,',
  paragraphs: [
    'Somebody asked for a new password for this address, and so we have made a link with which you can choose one.',
    'It works once, for an hour.',
  ],
  action: { label: 'Choose a new password', url },
  afterword: 'If it was not you, there is nothing to do.',
}

test('a letter as text is plain paragraphs, with its link unbroken on a separate line', () => {
  assert.equal(
    renderText(letter),
    `Hello Ann,

Somebody asked for a new password for this address, and so we have made
a link with which you can choose one.

It works once, for an hour.

Choose a new password:

${url}

--
If it was not you, there is nothing to do.
`,
  )
})

test('a letter as HTML has the same content, no table, and fetches nothing', () => {
  const html = renderHtml(letter)
  for (const text of [letter.greeting, ...letter.paragraphs, letter.action?.label, letter.afterword])
    assert.ok(html.includes(`>${text}<`), text)
  assert.equal(html.split(url).length - 1, 3)
  assert.doesNotMatch(html, /<table|<img|<script|<link|src=|url\(|@import/)
})

test('text that others have written cannot add a line or an element', () => {
  const nasty = 'Acme\r\n\r\nhttps://evil.example\u2028<a href="x">&\u202e\0'
  const text = renderText({ ...letter, greeting: nasty, paragraphs: [nasty], afterword: nasty })
  assert.ok(text.split('\n').every(line => !line.startsWith('https://evil')))
  assert.doesNotMatch(text, /[\r\u2028\u202e\0]/)
  const html = renderHtml({
    ...letter,
    subject: nasty,
    paragraphs: [nasty],
    action: { label: nasty, url: `${url}"<` },
  })
  assert.ok(html.includes('Acme https://evil.example &lt;a href=&quot;x&quot;&gt;&amp;</p>'))
  assert.ok(html.includes(`href="${url}&quot;&lt;"`))
  assert.equal(html.match(/<a /g)?.length, 2)
})
