import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

// The shell is the same engine without windows, and takes three quarters of the processor time.
const installed = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** Debian's Chromium, or the one that KEYRAIL_TEST_CHROMIUM names. */
const path = process.env.KEYRAIL_TEST_CHROMIUM ?? installed.find(existsSync) ?? installed[0]

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ ...(path !== undefined && { executablePath: path }), args: ['--no-sandbox'] })
