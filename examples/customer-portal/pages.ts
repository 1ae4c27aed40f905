import { settings } from '../settings.ts'
import type { Customer } from './customers.ts'

/** The widget comes from the service, and calls it. No other site may frame the page and lead clicks onto its buttons. */
export const policy = `default-src 'self'; script-src 'self' ${settings.url}; connect-src 'self' ${settings.url}; frame-ancestors 'none'`

const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
  <head>
    <title>${title} · Acme Payments</title>
    <meta name="viewport" content="width=device-width">
    <link rel="icon" href="icon.svg">
    <link rel="stylesheet" href="portal.css">
  </head>
  <body>${body}</body>
</html>
`

/** @param refused an address that no customer has */
export const signInPage = (refused?: unknown) =>
  page(
    'Sign in',
    `
    <main class="door">
      <h1>Sign in to Acme Payments</h1>
      <form method="post" action="/sign-in">
        ${refused === undefined ? '' : '<p role="alert">No customer has this address.</p>'}
        <label>E-mail <input name="email" type="email" autocomplete="email" value="${escaped(refused ?? 'ann@globex.example')}" required></label>
        <button>Sign in</button>
      </form>
    </main>`,
  )

export const keysPage = ({ name, email }: Customer) =>
  page(
    'API keys',
    `
    <header>
      <strong>Acme Payments</strong>
      <form method="post" action="/sign-out"><span>${escaped(name)}</span> <button>Sign out</button></form>
    </header>
    <main>
      <keyrail-keys></keyrail-keys>
    </main>
    <dialog aria-labelledby="again">
      <h2 id="again">Sign in again</h2>
      <form method="post" action="/sign-in">
        <p>Your session at Acme Payments has ended. What you typed is still there.</p>
        <input name="email" type="hidden" value="${escaped(email)}">
        <button>Sign in as ${escaped(email)}</button>
      </form>
    </dialog>
    <script type="module" src="${settings.url}/embed/v1/keyrail-keys.js"></script>
    <script type="module" src="/portal.js"></script>`,
  )

const escaped = (text: unknown) =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
