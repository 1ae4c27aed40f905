import assert from 'node:assert/strict'
import { test } from 'node:test'
import { render } from './render.ts'

const html = (markdown: string) => render(markdown, 'docs/page.md', new Map()).html

test('named blocks of code that follow each other are tabs, the first one chosen', () => {
  const shown = html(
    'Text.\n\n```sh curl\ncurl a\n```\n\n```go Go\nfunc b()\n```\n\n```python Python\nc()\n```\n\nMore.',
  )
  assert.equal(shown.match(/class="tabs"/g)?.length, 1)
  assert.deepEqual(
    [...shown.matchAll(/<label for="([^"]+)">(\w+)<\/label>/g)].map(([, id, name]) => [id, name]),
    [
      ['tabs-1-0', 'curl'],
      ['tabs-1-1', 'Go'],
      ['tabs-1-2', 'Python'],
    ],
  )
  assert.equal(shown.match(/ checked/g)?.length, 1)
  assert.match(shown, /id="tabs-1-0" checked/)
  for (const code of ['curl a', 'func b()', 'c()']) assert.ok(shown.includes(`${code}\n</code></pre>`), code)
  assert.match(shown, /<p>Text\.<\/p>[\s\S]*class="tabs"[\s\S]*<p>More\.<\/p>/)
})

test('text between blocks ends the tabs, and one block alone has none', () => {
  const shown = html('```sh curl\na\n```\n\nText.\n\n```go Go\nb\n```')
  assert.doesNotMatch(shown, /tabs/)
  assert.match(shown, /<code class="sh">a/)
})

test('the words of all tabs are found by the search', () => {
  const { sections } = render(
    '# Page\n\n```sh curl\nalpha\n```\n\n```go Go\nbeta\n```',
    'docs/page.md',
    new Map(),
  )
  assert.match(sections.map(({ text }) => text).join(' '), /alpha.*beta/)
})
