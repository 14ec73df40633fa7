// Starts the console page.

import '@preact/signals';
import { render } from 'preact';
import { App } from './app.js';
import { keepLive } from './live/socket.js';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/cluster.css';
import './styles/work.css';

const place = document.getElementById('console');
if (place !== null) {
  keepLive();
  render(<App />, place);
}
