import { Button, Stack } from '@mantine/core'
import { useEffect, useState } from 'react'
import { isServed, reload, reloadOnce } from '../missing-part.ts'
import { PageFrame } from './page-frame.tsx'

const lookAgainMs = 2_000

/** In place of a screen whose code could not be loaded. It opens the screen as soon as that can work. */
export function PartMissing() {
  const [state, setState] = useState<'looking' | 'waiting' | 'missing'>('looking')
  useEffect(() => {
    let timer: number | undefined
    let hasWaited = false
    let isOver = false
    const look = async () => {
      const served = await isServed()
      if (isOver) return
      if (!served) {
        hasWaited = true
        setState('waiting')
        timer = window.setTimeout(look, lookAgainMs)
      } else if (hasWaited) reload()
      else if (!reloadOnce()) setState('missing')
    }
    void look()
    return () => {
      isOver = true
      window.clearTimeout(timer)
    }
  }, [])
  if (state === 'looking') return null
  if (state === 'waiting') {
    return (
      <PageFrame
        title="Keyrail cannot be reached"
        lead="Check your connection. This page opens by itself as soon as the service answers."
      >
        {null}
      </PageFrame>
    )
  }
  return (
    <PageFrame
      title="A part of this page is missing"
      lead="The service may be changing to another release. In a minute that is over."
    >
      <Stack align="start">
        <Button onClick={reload}>Load the page again</Button>
      </Stack>
    </PageFrame>
  )
}
