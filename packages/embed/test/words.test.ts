import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

// Its types are those of a browser, too.
const { wordsFor } = await import(new URL('../src/widget/words/words.ts', import.meta.url).href)

const source = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const languages = readdirSync(new URL('../src/widget/words/', import.meta.url))
  .map(file => /^([a-z]{2})\.ts$/.exec(file)?.[1] ?? '')
  .filter(language => language !== '')

test('each language with texts is chosen, offered in the playground and named on the pages', () => {
  const [, list = ''] =
    /^const languages = \[\n([\s\S]*?)^\]/m.exec(
      source('packages/dashboard/src/screens/embed/playground-controls.tsx'),
    ) ?? []
  const offered = [...list.matchAll(/value: '(\w+)'/g)].map(([, language = '']) => language)
  assert.deepEqual(offered.toSorted(), languages.toSorted())
  for (const language of languages) assert.equal(wordsFor(language, undefined).language, language)
  const names = new Intl.DisplayNames('en', { type: 'language' })
  const sentence = new Intl.ListFormat('en-GB').format(offered.map(language => names.of(language) ?? ''))
  for (const page of ['docs/embed.md', 'packages/embed/README.md'])
    assert.ok(source(page).includes(`${sentence} are built in.`), `${page}: ${sentence}`)
})

test('each language has every text, with the values that the English one has', async () => {
  const textsOf = async (language: string): Promise<Record<string, string>> =>
    (await import(new URL(`../src/widget/words/${language}.ts`, import.meta.url).href))[language]
  const english = await textsOf('en')
  const slotsOf = (text = '') => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted()
  for (const language of languages) {
    const texts = await textsOf(language)
    for (const [name, text] of Object.entries(english)) {
      // Japanese has one form for every count.
      if (language === 'ja' && name === 'requests_one') continue
      assert.notEqual(texts[name]?.trim() ?? '', '', `${language} ${name}`)
      assert.deepEqual(slotsOf(texts[name]), slotsOf(text), `${language} ${name}`)
    }
    assert.deepEqual(
      Object.keys(texts).filter(name => !(name in english)),
      [],
    )
  }
})

test('a count has the form of its language, or the usual one where its texts have no other', () => {
  const counted = (tag: string, count: number) => wordsFor(tag, undefined).count('requests', count)
  assert.equal(counted('fr', 0), '0 requête en 30 jours')
  assert.equal(counted('es', 0), '0 solicitudes en 30 días')
  assert.equal(counted('pt', 1), '1 solicitação em 30 dias')
  assert.equal(counted('ja', 1), '30日間に1件のリクエスト')
  assert.match(counted('fr', 1_000_000), /^1\D000\D000 requêtes en 30 jours$/)
})

test('no formatter is made before a text needs one, and each only once', t => {
  const made = (['PluralRules', 'NumberFormat', 'DateTimeFormat'] as const).map(name =>
    t.mock.method(Intl, name),
  )
  const counts = () => made.map(({ mock }) => mock.callCount())
  const words = wordsFor('de', undefined)
  assert.equal(words.text('loading'), 'Schlüssel werden geladen')
  assert.deepEqual(counts(), [0, 0, 0])
  for (const at of ['2026-11-02T10:00:00Z', '2026-11-03T10:00:00Z'])
    assert.match(words.day(at), /^\d{2}\.11\.2026$/)
  assert.deepEqual(counts(), [0, 0, 1])
  assert.equal(words.count('requests', 1), '1 Anfrage in 30 Tagen')
  assert.equal(words.count('requests', 1_234), '1.234 Anfragen in 30 Tagen')
  assert.deepEqual(counts(), [1, 1, 1])
})
