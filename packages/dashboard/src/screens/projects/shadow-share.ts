const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })

/** The share of requests on which both agree. Rounded down: 100 % says that there is no difference. */
export const shareInWords = (agreed: number, differing: number): string =>
  percent.format(Math.floor((agreed * 1_000) / (agreed + differing)) / 1_000)
