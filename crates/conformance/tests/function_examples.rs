//! Every example of the function registry, run as it stands: the SQL reference is made of them.

use conformance::configuration;

#[test]
fn examples_give_what_they_say() {
    let session = configuration::standard().open().unwrap();
    let mut wrong = Vec::new();
    for function in sql::functions() {
        // A file's rows, or the moment.
        if function.result.is_empty() {
            continue;
        }
        let query = function.example_query();
        let answer = match session.query(&query) {
            Ok(result) => {
                let fields = result.schema().fields();
                let mut values = Vec::new();
                for batch in result.batches() {
                    for row in 0..batch.rows {
                        let cells = batch.columns.iter().zip(fields);
                        values.extend(cells.map(|(c, f)| c.value(row).display(f.ty)));
                    }
                }
                values.join(", ")
            }
            Err(error) => error.to_string(),
        };
        if answer != function.result {
            wrong.push(format!("{query}\n  gives {answer}\n  not   {}", function.result));
        }
    }
    assert!(wrong.is_empty(), "{} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
