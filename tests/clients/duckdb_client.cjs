// Works with DuckDB in a folder: a database, a Parquet file and a CSV file.  Prints what it read, as JSON.
const { DuckDBInstance } = require('@duckdb/node-api');

async function main(folder) {
  const options = { threads: '1' };
  let instance = await DuckDBInstance.create(`${folder}/base.duckdb`, options);
  let base = await instance.connect();
  await base.run(`CREATE TABLE t AS
    SELECT range AS id, sin(range / 100.0) AS x, 'row ' || (range % 97) AS name FROM range(200000)`);
  await base.run('CHECKPOINT');
  await base.run('UPDATE t SET x = -1 WHERE id % 1000 = 7');
  await base.run('DELETE FROM t WHERE id > 190000');
  await base.run(`COPY (SELECT * FROM t ORDER BY id) TO '${folder}/table.parquet' (ROW_GROUP_SIZE 20000)`);
  await base.run(`COPY (SELECT * FROM t ORDER BY id) TO '${folder}/table.csv' (HEADER)`);
  base.disconnectSync();
  instance.closeSync();

  instance = await DuckDBInstance.create(`${folder}/base.duckdb`, options);
  base = await instance.connect();
  const seen = [];
  for (const table of ['t', `'${folder}/table.parquet'`, `'${folder}/table.csv'`]) {
    const read = await base.runAndReadAll(`SELECT count(*)::INT, sum(id)::VARCHAR, count(DISTINCT name)::INT,
      sum(CASE WHEN x = -1 THEN 1 ELSE 0 END)::INT FROM ${table} WHERE id BETWEEN 1000 AND 180000`);
    seen.push(read.getRows());
  }
  base.disconnectSync();
  instance.closeSync();
  console.log(JSON.stringify(seen));
}

main(process.argv[2]);
