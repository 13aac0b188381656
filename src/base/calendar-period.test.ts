import { describe, expect, test } from "bun:test";
import { CalendarPeriods, isTimeZone, type PeriodName } from "./calendar-period.ts";

const MINUTE = 60_000;
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Santiago",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Asia/Beirut",
  "Africa/Cairo",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Pacific/Kiritimati",
];

/** Creating a formatter takes as long as hundreds of labels. */
const formatters = new Map(
  ZONES.map((zone) => [
    zone,
    new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      hourCycle: "h23",
      timeZoneName: "longOffset",
    }),
  ]),
);

/** What is constant during a period and different in the next one. */
function labelOf(name: PeriodName, zone: string, at: number): string {
  const parts = formatters.get(zone)?.formatToParts(at) ?? [];
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((each) => each.type === type)?.value ?? "";
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  if (name === "hour") return `${date} ${part("hour")} ${part("timeZoneName")}`;
  if (name === "month") return date.slice(0, 7);
  if (name === "day") return date;
  const days = Date.parse(`${date}T00:00:00Z`) / 86_400_000;
  return String(Math.floor((days + 3) / 7));
}

describe("periods compared with labels of the local time", () => {
  // Around the changes of 2026 in these zones, and at random.
  const around = [
    "2026-03-08",
    "2026-03-29",
    "2026-04-05",
    "2026-04-24",
    "2026-09-06",
    "2026-10-04",
    "2026-10-25",
    "2026-11-01",
  ];
  const instants = [
    ...around.flatMap((day) =>
      [-30, -9, -2, 0, 1, 2, 3, 7, 14, 22].map((hours) => Date.parse(day) + hours * 3_600_000 + 20 * MINUTE),
    ),
    ...Array.from(
      { length: 20 },
      (_, index) => Date.UTC(2025, 0, 1) + ((index * 7_919_777) % 1_576_800) * MINUTE,
    ),
  ];

  for (const name of ["hour", "day", "week", "month"] as const) {
    test(`every ${name} begins and ends where the label changes`, () => {
      for (const zone of ZONES) {
        const periods = new CalendarPeriods(name, zone);
        for (const at of instants) {
          const { start, end } = periods.at(at);
          const label = labelOf(name, zone, at);
          const place = `${zone} ${new Date(at).toISOString()} ${name}`;
          expect([place, start <= at && at < end]).toEqual([place, true]);
          expect([place, labelOf(name, zone, start)]).toEqual([place, label]);
          expect([place, labelOf(name, zone, end - 1)]).toEqual([place, label]);
          expect([place, labelOf(name, zone, start - 1) === label]).toEqual([place, false]);
          expect([place, labelOf(name, zone, end) === label]).toEqual([place, false]);
        }
      }
    });
  }
});

test("days of a change to and from daylight saving time have 23 and 25 hours", () => {
  const days = new CalendarPeriods("day", "Europe/Berlin");
  const hours = (at: string) => {
    const { start, end } = days.at(Date.parse(at));
    return (end - start) / 3_600_000;
  };
  expect(["2026-03-28T12:00Z", "2026-03-29T12:00Z", "2026-10-25T12:00Z"].map(hours)).toEqual([24, 23, 25]);
});

test("a week starts on Monday, and a total never ends", () => {
  const week = new CalendarPeriods("week", "UTC").at(Date.parse("2026-11-15T23:59:59Z"));
  expect(new Date(week.start).toISOString()).toBe("2026-11-09T00:00:00.000Z");
  expect(new CalendarPeriods("total", "UTC").at(Date.now())).toEqual({ start: 0, end: Infinity });
});

test("periods that follow each other leave no gap", () => {
  for (const zone of ZONES) {
    const days = new CalendarPeriods("day", zone);
    let at = days.at(Date.UTC(2026, 0, 1)).end;
    for (let count = 0; count < 400; count++) {
      const { start, end } = days.at(at);
      expect(start).toBe(at);
      at = end;
    }
  }
});

test("names of time zones", () => {
  expect(["UTC", "Europe/Berlin", "Mars/Olympus", ""].map(isTimeZone)).toEqual([true, true, false, false]);
});
