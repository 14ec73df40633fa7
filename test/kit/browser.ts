/** A browser for the console page: finds Chromium, installs it where that takes no question, and opens pages that may not complain. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type ConsoleMessage, type Page } from 'playwright-core';
import { inject } from 'vitest';
import { canInstallPackages, installPackage } from '../../cluster/stores/debian-packages.js';

const PROGRAMS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** The browser's program, or null with a line that says why there is none: the tests that need it are then skipped. */
export async function chromiumIfThere(): Promise<string | null> {
  const say = (line: string): boolean => process.stderr.write(`${line}\n`);
  const found = (): string | undefined => PROGRAMS.find((file) => existsSync(file));
  const there = process.env.CARILLON_TEST_CHROMIUM ?? found();
  if (there !== undefined) return there;
  if (canInstallPackages()) {
    const log = path.join(inject('runDir'), 'chromium.log');
    say(`Chromium is not installed: installing it with apt-get, for the tests of the console page (output in ${log})`);
    try {
      await installPackage('chromium', log);
    } catch (error) {
      say(String(error));
    }
    const installed = found();
    if (installed !== undefined) return installed;
  }
  say(
    'The tests of the console page are skipped: no Chromium. Install it (sudo apt-get install -y chromium), or name a program in CARILLON_TEST_CHROMIUM',
  );
  return null;
}

export function launch(program: string): Promise<Browser> {
  // Root may not use Chromium's sandbox, and the pages are our own.
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] });
}

/** Answers that are no fault of the page: what it was told to ask was wrong, and it shows the API's text. */
export interface Expected {
  readonly path: RegExp;
  readonly status: number;
}

/** A page and what it complained of. */
export class WatchedPage {
  readonly complaints: string[] = [];
  readonly outside: string[] = [];
  readonly #expected: Expected[] = [];

  constructor(
    readonly page: Page,
    private readonly origin: string,
  ) {
    page.on('console', (message) => this.#hear(message));
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(this.origin)) this.outside.push(request.url());
    });
  }

  expect(...expected: Expected[]): void {
    this.#expected.push(...expected);
  }

  #hear(message: ConsoleMessage): void {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    const { url } = message.location();
    const isExpected = this.#expected.some(
      ({ path: asked, status }) => asked.test(url) && message.text().includes(`status of ${status}`),
    );
    if (!isExpected) this.complaints.push(`${message.text()} (${url})`);
  }
}

/** Opens the console of a node in a fresh context and signs in by typing the token. */
export async function openConsole(
  browser: Browser,
  url: string,
  token: string,
  options: { colorScheme?: 'light' | 'dark'; width?: number; height?: number } = {},
): Promise<WatchedPage> {
  const { colorScheme = 'light', width = 1_440, height = 900 } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const watched = new WatchedPage(page, url);
  await page.goto(`${url}/admin`);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Places' }).waitFor();
  return watched;
}
